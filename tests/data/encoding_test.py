import os

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode as encode_lib
from gpt1_keras.errors import InputError
from tests.reference import letter_tokenizer

LINES = [
    f"Paragraph {i} is long enough to be cut, here and there."
    for i in range(200)
]
TEXT = "\n".join(LINES)
IDS = [ord(c) for c in TEXT if c != " "]


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text(TEXT + "\n")
    scan = encode_lib.scan({"book": path, "again": path})
    return [(s, piece) for s in scan.sources for piece in books.cut(path, 700)]


def encode(tasks, num_processes=1):
    tokenizer = letter_tokenizer.LetterTokenizer()
    return list(
        encode_lib.encode_pieces(
            tasks, tokenizer, "uint16", num_processes=num_processes
        )
    )


def test_pieces_join_to_the_ids_of_the_book(tasks, monkeypatch):
    monkeypatch.setattr(books, "_BLOCK_BYTES", 100)  # cut at line ends here
    tasks = [
        (s, p)
        for s in dict.fromkeys(t[0] for t in tasks)
        for p in books.cut(s.path, 700)
    ]
    monkeypatch.setattr(encode_lib, "_GROUP_CHARACTERS", 150)
    encoded = encode(tasks)
    assert len(encoded) > 20
    assert all(ids.dtype == np.uint16 for ids, _ in encoded)
    assert np.concatenate([ids for ids, _ in encoded]).tolist() == IDS + IDS
    assert sum(words for _, words in encoded) == 2 * len(TEXT.split())


def test_processes_give_the_same_in_order(tasks):
    for one, two in zip(encode(tasks), encode(tasks, 2), strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        assert one[1] == two[1]


def test_a_file_that_changes_meanwhile(tasks):
    path = tasks[0][1].path
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match="changed while"):
        encode(tasks)


def test_texts_for_training(tasks, monkeypatch):
    monkeypatch.setattr(encode_lib, "_GROUP_CHARACTERS", 1000)
    texts = list(encode_lib.texts([tasks[0][0]]))
    assert len(texts) > 5 and "\n".join(texts) == TEXT
