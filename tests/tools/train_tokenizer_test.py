import subprocess
import sys

import pytest

from gpt1_keras.text import tokenizer
from tools import train_tokenizer

TEXT = (
    "It was a bright cold day, and the clocks were striking thirteen.\n\n"
    "“Newer is wider than the widest,” said the old man, “and lower.”\n\n"
) * 40


@pytest.fixture
def books(tmp_path, monkeypatch):
    """A folder of two books, in the current folder."""
    folder = tmp_path / "books"
    (folder / "more").mkdir(parents=True)
    (folder / "one.txt").write_text(TEXT, "utf-8")
    (folder / "more" / "two.txt").write_text(TEXT.upper(), "utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def options(kind, size, output):
    return [f"--type={kind}", f"--vocabulary_size={size}", f"--output={output}"]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_learns_the_same_in_every_process(tmp_path, books, capsys, kind):
    assert train_tokenizer.main([*options(kind, 150, "out"), "books"]) == 0
    ours = tokenizer.Tokenizer.from_directory(tmp_path / "out")
    assert ours.type == kind and ours.vocabulary_size <= 150
    told = f"{ours.vocabulary_size} entries ({kind}) from 2 books"
    assert told in capsys.readouterr().out
    assert 0 not in ours.encode("it was a bright day.\nsaid the man")
    if kind == "bpe":
        done = subprocess.run(
            [
                *(sys.executable, train_tokenizer.__file__),
                *options(kind, 150, tmp_path / "again"),
                books,
            ],
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        for file in (tmp_path / "out").iterdir():
            other = tmp_path / "again" / file.name
            assert other.read_bytes() == file.read_bytes()


def test_little_text_and_broken_files(tmp_path, books, capsys):
    broken = {"latin": b"caf\xe9 " * 50, "nothing": b"", "image": b"PNG\0\0"}
    for name, content in broken.items():
        (books / f"{name}.txt").write_bytes(content)
    assert train_tokenizer.main([*options("bpe", 9000, "o"), "books"]) == 0
    size = tokenizer.Tokenizer.from_directory(tmp_path / "o").vocabulary_size
    told = capsys.readouterr()
    assert f"9000 entries were asked for, but the text gives only {size}\n" in (
        told.out
    )
    assert size < 9000 and "from 2 books, 3 files skipped" in told.out
    for name in broken:
        assert f"{name}.txt: " in told.err
