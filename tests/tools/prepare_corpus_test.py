import subprocess
import sys

import pytest

from gpt1_keras.data import shards
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary
from tools import prepare_corpus

TEXT = "The old man went home with his cat, and slept.\n" * 20
GIVEN = ["--vocabulary", "vocabulary.json", "--merges", "merges.txt"]
COMPLETE = [*GIVEN, "--output", "out"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with books/, vocabulary.json and merges.txt."""
    train_vocabulary.train_bpe([TEXT], vocabulary_size=60).save(tmp_path)
    (tmp_path / "books").mkdir()
    for name in ("one", "two"):
        (tmp_path / "books" / f"{name}.txt").write_text(TEXT + name)
    (tmp_path / "books" / "broken.txt").write_bytes(b"\0")
    (tmp_path / "named").write_text("two.txt\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_prepares_from_any_directory(folder):
    done = subprocess.run(
        [sys.executable, prepare_corpus.__file__, *COMPLETE, "books"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "2 books" in done.stdout
    assert "skipped broken.txt: binary" in done.stdout
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        folder / "vocabulary.json", folder / "merges.txt"
    )
    prepared = shards.Shards.open(
        folder / "out", tokenizer_sha256=tokenizer.sha256
    )
    train = prepared.split("train")
    text = (folder / "books" / train.names[0]).read_text().strip()
    assert train.read(0, 0, 10**6).tolist() == tokenizer.encode(text)


def test_held_out_books_by_name(folder):
    named = ["--held_out_books", "named"]
    assert prepare_corpus.main([*COMPLETE, *named, "books"]) == 0
    prepared = shards.Shards.open("out")
    assert prepared.split("held_out").names == ["two.txt"]
    assert prepared.index["held_out_books"] == ["two.txt"]


def test_beam_makes_the_same_files(folder):
    pytest.importorskip("apache_beam")
    assert prepare_corpus.main([*COMPLETE, "books"]) == 0
    many = ["--beam", "DirectRunner", "--beam_option=--direct_num_workers=1"]
    arguments = [*GIVEN, "--output", "many", *many, "books"]
    assert prepare_corpus.main(arguments) == 0
    names = [path.name for path in (folder / "out").glob("[!.]*.*")]
    assert {"index.json", "shard_00000.bin"} <= set(names)
    for name in names:
        ours, theirs = folder / "many" / name, folder / "out" / name
        assert ours.read_bytes() == theirs.read_bytes()
