import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import tokenizer


def alone(word):
    return (word,)


PARTS = [
    *(" ", "  ", "\n", " \n\n ", "\t", "\r\n", "\r", "\u2028", "\xa0", "\x1c"),
    *("boys'", "'em...foo", "'cause...x", "he", "He'd", '"Oh', "!", "—", "“"),
    *("’", "it's", "Mr.", "U.S.", "3,000", "a-b", "&amp;", "<", "Ã©", "é", "…"),
]
texts = st.lists(st.sampled_from(PARTS), max_size=16).map("".join)


@settings(max_examples=500)
@given(st.lists(texts | st.text(max_size=20), min_size=1, max_size=4))
def test_same_values_with_and_without_memory(given_texts):
    remembering = tokenizer.ChunkDictionary(alone, 1000)
    forgetful = tokenizer.ChunkDictionary(alone, 0)
    tight = tokenizer.ChunkDictionary(alone, 3)
    for text in given_texts:
        expected = forgetful(text)
        assert remembering(text) == expected
        assert remembering(text) == expected
        assert tight(text) == expected


def test_white_space_with_a_line_break_is_one_newline():
    split = tokenizer.ChunkDictionary(alone, 10)
    assert split("\n a \t\n \r\n b\rc  d\n\n") == list("a\nb\nc") + ["d"]
    assert split(" \n ") == split("") == []


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_memory_is_bounded(limit):
    split = tokenizer.ChunkDictionary(alone, limit)
    for start in range(0, 600, 20):
        text = " ".join(f"word{n}," for n in range(start, start + 20))
        assert len(split(text)) == 40
        for memory in (split._chunks, split._pieces, split._words):
            assert len(memory) <= limit


def test_without_memory_only_words_are_kept():
    split = tokenizer.ChunkDictionary(alone, 0)
    split("some words, here")
    assert len(split) == 0


def test_a_very_long_chunk_is_not_remembered():
    split = tokenizer.ChunkDictionary(alone, 10)
    long = "x" * 10_000
    assert split(long) == split(long) == [long]
    assert not any(
        long in m for m in (split._chunks, split._pieces, split._words)
    )


def test_pickles_without_its_memory():
    split = tokenizer.ChunkDictionary(alone, 10)
    split("some words")
    copy = pickle.loads(pickle.dumps(split))
    assert len(split) and not len(copy)
    assert copy("some words") == ["some", "words"]


def test_threads_get_the_same_values():
    split = tokenizer.ChunkDictionary(alone, 50)
    text = " ".join(f"w{n % 97}x, {n}th it's\n" for n in range(2000))
    expected = tokenizer.ChunkDictionary(alone, 0)(text)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(split(text)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 6
