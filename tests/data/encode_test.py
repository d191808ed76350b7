import collections
import os

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.errors import InputError
from tests.reference import letter_tokenizer

LINES = [
    f"Paragraph {i} is long enough to be cut, here and there."
    for i in range(200)
]
TEXT = "\n".join(LINES)
IDS = [ord(c) for c in TEXT if c != " "]


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


def test_pieces_join_to_the_ids_of_the_book(found):
    pieces = encoded(found)
    assert len(pieces) > 20
    assert all(ids.dtype == np.uint16 for ids, _ in pieces)
    assert np.concatenate([ids for ids, _ in pieces]).tolist() == IDS + IDS
    assert sum(words for _, words in pieces) == 2 * len(TEXT.split())


def test_processes_give_the_same_in_order(found):
    one, two = encoded(found), encoded(found, num_processes=2)
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
    counts = encode.count_words(found, num_processes=2)
    words = TEXT.replace(",", " ,").replace(".", " .").lower().split()
    del counts["\n"]
    assert counts == collections.Counter(words + words)


def test_processes_follow_the_text(found, monkeypatch):
    started = []

    def pool(number, **_):
        started.append(number)
        raise InterruptedError

    monkeypatch.setattr(encode.futures, "ProcessPoolExecutor", pool)
    monkeypatch.setattr(encode.os, "sched_getaffinity", lambda _: range(3))
    encoded(found)
    assert not started  # too little text
    monkeypatch.setattr(encode, "_BYTES_WORTH_PROCESSES", 2)
    with pytest.raises(InterruptedError):
        encoded(found)
    with pytest.raises(InterruptedError):
        encode.count_words(found)  # of two pieces
    assert started == [3, 2]


def test_a_file_that_changes_meanwhile(found):
    os.utime(found[0].path, ns=(1, 1))
    with pytest.raises(InputError, match="changed while"):
        encoded(found)
