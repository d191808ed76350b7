import json

import pytest

from gpt1_keras import errors
from gpt1_keras.data import shards
from gpt1_keras.runs import prepare
from gpt1_keras.runs import sources
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import tiny_fine_tuned


def run(books, workdir, **changes):
    settings = {
        "vocabulary": None,
        "merges": None,
        "tokenizer_type": "bpe",
        "vocabulary_size": 80,
        "held_out_fraction": 0.3,
    }
    corpus = sources.Corpus(corpus=str(books), **settings | changes)
    prepare.prepare(corpus=corpus, workdir=workdir, config_sha256="0" * 64)
    return workdir


def test_workdir_becomes_a_corpus(tmp_path):
    books, workdir = tmp_path / "books", tmp_path / "out"
    books.mkdir()
    for name in ("one", "two", "three"):
        lines = f"The {name} old man went home with his {name} cat.\n" * 30
        (books / f"{name}.txt").write_text(lines)
    (books / "broken.txt").write_bytes(b"\0")
    path = run(books, tmp_path / "first")
    opened = shards.Shards.open(path)
    names = [opened.split(split).names for split in ("train", "held_out")]
    assert list(map(len, names)) == [2, 1]
    assert sorted(sum(names, [])) == ["one.txt", "three.txt", "two.txt"]
    found = json.loads((path / "result.json").read_text())
    assert found["run"] == "prepare" and found["metrics"]["books"] == 3
    assert found["metrics"]["skipped"] == 1
    given = {
        "vocabulary": str(path / "tokenizer" / "vocabulary.json"),
        "merges": str(path / "tokenizer" / "merges.txt"),
    }
    again = run(books, tmp_path / "second", **given)
    tokenizer = tokenizer_lib.Tokenizer.from_directory(path / "tokenizer")
    assert shards.Shards.open(again).tokenizer_sha256 == tokenizer.sha256
    with pytest.raises(errors.InputError, match="`vocabulary` is not given"):
        run(books, tmp_path / "third", merges=given["merges"])
    # Through main.
    for settings, expected in (
        ({"CORPUS": str(tmp_path / "nowhere")}, "nowhere does not exist"),
        ({"CORPUS": str(books), "VOCABULARY_SIZE": 90}, None),
        ({}, "belongs to another configuration"),
    ):
        status, messages = tiny_fine_tuned.call_main(
            "gin/prepare.gin", workdir, **settings
        )
        if expected is not None:
            assert status == 2 and expected in messages
            # A refused corpus leaves the workdir free.
            assert settings == {} or not list(workdir.iterdir())
            continue
        assert status == 0, messages
        index = json.loads((workdir / "index.json").read_text())
        assert index["held_out_fraction"] == 0.03
        assert index["vocabulary_size"] <= 90
