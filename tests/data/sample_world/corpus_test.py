import hashlib
import json
import tracemalloc

import pytest

from gpt1_keras import errors
from gpt1_keras.data.sample_world import books
from gpt1_keras.data.sample_world import corpus


def digest(paths):
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_size_shape_and_determinism(tmp_path):
    paths = corpus.write_corpus(tmp_path / "a", words=40_000, seed=3)
    again = corpus.write_corpus(tmp_path / "b", words=40_000, seed=3)
    other = corpus.write_corpus(tmp_path / "c", words=40_000, seed=4)
    assert len(paths) == corpus.MIN_BOOKS
    assert digest(paths) == digest(again)
    assert not set(digest(paths)) & set(digest(other))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    assert 40_000 <= sum(len(text.split()) for text in texts) <= 60_000
    for path, text in zip(paths, texts, strict=True):
        assert path.suffix == ".txt" and text.isascii()
        assert text.endswith("The End\n\n")
        assert "\n\n\n" not in text and "\r" not in text
        lines = text.split("\n")
        assert all(line == "" for line in lines[1::2])


def test_a_finished_corpus_is_used_again(tmp_path):
    folder = tmp_path / "corpus"
    paths = corpus.write_corpus(folder, words=4_000)
    before = [path.stat().st_mtime_ns for path in paths]
    assert corpus.write_corpus(folder, words=4_000) == paths
    assert [path.stat().st_mtime_ns for path in paths] == before
    manifest = json.loads((folder / corpus.MANIFEST).read_text())
    assert manifest["books"] == [path.name for path in paths]


def test_another_corpus_is_never_overwritten(tmp_path):
    folder = tmp_path / "corpus"
    corpus.write_corpus(folder, words=4_000)
    with pytest.raises(errors.InputError, match="another sample corpus"):
        corpus.write_corpus(folder, words=4_000, seed=1)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "novel.txt").write_text("Mine.")
    with pytest.raises(errors.InputError, match="not a sample corpus"):
        corpus.write_corpus(foreign, words=4_000)
    assert [path.name for path in foreign.iterdir()] == ["novel.txt"]


def test_a_corpus_that_lost_a_book_is_refused(tmp_path):
    paths = corpus.write_corpus(tmp_path / "corpus", words=4_000)
    paths[1].unlink()
    with pytest.raises(errors.InputError, match="remove it"):
        corpus.write_corpus(tmp_path / "corpus", words=4_000)


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def fail(self):
        yield "A line."
        raise OSError("disk full")

    monkeypatch.setattr(books.Book, "paragraphs", fail)
    with pytest.raises(OSError, match="disk full"):
        corpus.write_corpus(tmp_path / "corpus", words=4_000)
    assert list(tmp_path.iterdir()) == []


def test_too_small_is_refused(tmp_path):
    with pytest.raises(errors.InputError, match="too small"):
        corpus.write_corpus(tmp_path / "corpus", words=100)


def test_memory_does_not_grow_with_the_book():
    def peak(words):
        tracemalloc.start()
        for _ in books.Book(0, 0, words=words).paragraphs():
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(4_000)  # caches of templates and names
    small, large = peak(5_000), peak(40_000)
    text = 35_000 * 5.7
    # The events stay (later chapters remember them), the text does not: it
    # would come to several times its size, as one object for each paragraph.
    assert large - small < 5 * text
