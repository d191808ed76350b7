import json
import pathlib

import pytest

from gpt1_keras import main
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError
from gpt1_keras.runs import prepare
from gpt1_keras.runs import sources
from gpt1_keras.text import tokenizer as tokenizer_lib


@pytest.fixture
def books(tmp_path):
    folder = tmp_path / "books"
    folder.mkdir()
    for name in ("one", "two", "three"):
        lines = [
            f"The {name} old man went home with his {name} cat."
            for _ in range(30)
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines))
    (folder / "broken.txt").write_bytes(b"\0")
    return folder


def run(books, workdir, **changes):
    settings = {
        "vocabulary": None,
        "merges": None,
        "tokenizer_type": "bpe",
        "vocabulary_size": 80,
        "held_out_fraction": 0.3,
        "split_seed": 0,
        "sample_words": 4000,
        "sample_seed": 0,
    }
    corpus = sources.Corpus(corpus=str(books), **{**settings, **changes})
    prepare.prepare(corpus=corpus, workdir=workdir, config_sha256="0" * 64)
    return workdir


def test_workdir_becomes_a_corpus(books, tmp_path):
    path = run(books, tmp_path / "out")
    opened = shards.Shards.open(path)
    assert sorted(
        opened.split("train").names + opened.split("held_out").names
    ) == ["one.txt", "three.txt", "two.txt"]
    assert len(opened.split("held_out").names) == 1
    found = json.loads((path / "result.json").read_text())
    assert found["run"] == "prepare" and found["metrics"]["books"] == 3
    assert found["metrics"]["skipped"] == 1


def test_a_given_vocabulary(books, tmp_path):
    trained = run(books, tmp_path / "first") / "tokenizer"
    given = {
        "vocabulary": str(trained / "vocabulary.json"),
        "merges": str(trained / "merges.txt"),
    }
    path = run(books, tmp_path / "second", **given)
    tokenizer = tokenizer_lib.Tokenizer.from_directory(trained)
    assert shards.Shards.open(path).tokenizer_sha256 == tokenizer.sha256
    with pytest.raises(InputError, match="without its VOCABULARY"):
        run(books, tmp_path / "third", merges=given["merges"])


def test_gin_file(books, tmp_path, capsys):
    arguments = ["--gin", "gin/prepare.gin", "--workdir", str(tmp_path / "out")]
    settings = ["--set", f"CORPUS = '{books}'", "--set", "VOCABULARY_SIZE = 90"]
    assert main.main([*arguments, *settings]) == 0
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert index["held_out_fraction"] == 0.03 and index["vocabulary_size"] <= 90
    assert main.main(arguments) == 2
    assert "belongs to another configuration" in capsys.readouterr().err


def test_a_refused_corpus_leaves_the_workdir_free(tmp_path, capsys):
    arguments = ["--gin", "gin/prepare.gin", "--workdir", str(tmp_path / "out")]
    assert (
        main.main([*arguments, "--set", f"CORPUS = '{tmp_path / 'nowhere'}'"])
        == 2
    )
    lines = capsys.readouterr().err.strip().split("\n")
    assert len(lines) == 1 and "nowhere does not exist" in lines[0]
    assert [
        p for p in pathlib.Path(tmp_path / "out").rglob("*") if p.is_file()
    ] == []
