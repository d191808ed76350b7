import os

import pytest

from gpt1_keras.data import books
from gpt1_keras.data import prepare
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.data import prepare_test

tokens_of = prepare_test.tokens_of


@pytest.fixture
def folder(tmp_path):
    return prepare_test.write_books(tmp_path / "books")


def open_corpus(corpus, cache, **changes):
    recipe = {"tokenizer_type": "bpe", "vocabulary_size": 120}
    recipe |= {"held_out_fraction": 0.1}
    return prepare.open_corpus(
        corpus, prepare.Recipe(**recipe | changes), cache_dir=cache
    )


def test_a_folder_of_books_is_prepared_once(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))
    prepared, tokenizer = open_corpus(folder, None)
    assert prepared.directory.parent == tmp_path / "cache"
    assert prepared.tokenizer_sha256 == tokenizer.sha256
    assert prepared.vocabulary_size == tokenizer.vocabulary_size <= 120
    name = prepared.split("train").names[0]
    expected = tokenizer.encode((folder / name).read_text())
    assert tokens_of(prepared)[name] == expected
    with monkeypatch.context() as patch:
        patch.setattr(books, "check_all", None)  # would fail if called
        again, same = open_corpus(folder, tmp_path / "cache")
    assert same.sha256 == tokenizer.sha256
    assert again.directory == prepared.directory
    directories = {prepared.directory}
    for changes in (
        {"vocabulary_size": 100},
        {"held_out_fraction": 0.4},
        {"split_seed": 1},
        {"tokenizer_type": "wordpiece"},
        {"held_out_books": (name,)},
        {"tokenizer": tokenizer},
    ):
        other, _ = open_corpus(folder, None, **changes)
        directories.add(other.directory)
    assert other.split("train").names == prepared.split("train").names
    (folder / "new.txt").write_text("A new book.")
    directories.add(open_corpus(folder, None)[0].directory)
    assert len(directories) == 8


def test_cache_folder_is_that_of_earlier_versions(tmp_path):
    """A corpus of gigabytes is not prepared again."""
    path = tmp_path / "a"
    path.write_text("abc")
    os.utime(path, ns=(1, 1))
    recipe = prepare.Recipe(
        tokenizer_type="bpe",
        vocabulary_size=100,
        held_out_fraction=0.03,
        split_seed=7,
    )
    found = prepare.cache_folder("corpus", {"a": path}, recipe, tmp_path)
    assert found.name == "corpus_2d24b9b3b8e96071"


def test_the_tokenizer_does_not_see_held_out_books(folder, tmp_path):
    prepared, _ = open_corpus(folder, tmp_path / "cache")
    for split, is_seen in (("held_out", False), ("train", True)):
        with open(folder / prepared.split(split).names[0], "a") as file:
            file.write("\n" + "@@@@@ " * 50)
        _, tokenizer = open_corpus(folder, tmp_path / "cache")
        assert ("@" in "".join(tokenizer.vocabulary)) == is_seen


def test_prepared_shards_are_a_corpus(folder, tmp_path):
    made, tokenizer = open_corpus(folder, tmp_path / "cache")
    opened, same = open_corpus(made.directory, None)
    assert same.sha256 == tokenizer.sha256
    assert tokens_of(opened) == tokens_of(made)
    opened, same = open_corpus(made.directory, None, tokenizer=tokenizer)
    assert same is tokenizer
    other = tokenizer_lib.Tokenizer(
        tokenizer.vocabulary[:-1], tokenizer.merges[:-1]
    )
    with pytest.raises(InputError, match="prepared with another tokenizer"):
        open_corpus(made.directory, None, tokenizer=other)
    path = made.directory / "tokenizer" / "merges.txt"
    lines = path.read_text("utf-8").split("\n")
    lines[1], lines[2] = lines[2], lines[1]
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match="is not the tokenizer"):
        open_corpus(made.directory, None)
