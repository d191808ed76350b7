import collections

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode
from tests.reference import letter_tokenizer

LINES = [
    f"Paragraph {i} is long enough to be cut, here and there."
    for i in range(200)
]
TEXT = "\n".join(LINES)


@pytest.fixture
def found(tmp_path, monkeypatch):
    monkeypatch.setattr(books, "_BLOCK_BYTES", 100)  # cut at line ends here
    monkeypatch.setattr(encode, "_GROUP_CHARACTERS", 150)
    path = tmp_path / "book.txt"
    path.write_text(TEXT + "\n")
    return books.check_all({"book": path, "again": path})[0]


def encoded(found, **options):
    tokenizer = letter_tokenizer.LetterTokenizer()
    tasks = encode.tasks_of(found, 700)
    return list(encode.encode_pieces(tasks, tokenizer, "uint16", **options))


def test_processes_give_the_same_in_order(found):
    one, two = encoded(found), encoded(found, num_processes=2)
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
    counts = encode.count_words(found, num_processes=2)
    words = TEXT.replace(",", " ,").replace(".", " .").lower().split()
    del counts["\n"]
    assert counts == collections.Counter(words + words)
