import importlib.util
import pathlib
import subprocess
import sys

import pytest

from gpt1_keras.text import tokenizer

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/train_tokenizer.py"
TEXT = (
    "It was a bright cold day, and the clocks were striking thirteen.\n\n"
    "“Newer is wider than the widest,” said the old man, “and lower.”\n\n"
) * 40


def load():
    spec = importlib.util.spec_from_file_location("train_tokenizer", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, str(TOOL), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def books(tmp_path):
    folder = tmp_path / "books"
    (folder / "more").mkdir(parents=True)
    (folder / "one.txt").write_text(TEXT, "utf-8")
    (folder / "more" / "two.txt").write_text(TEXT.upper(), "utf-8")
    return folder


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_learns_from_any_directory(tmp_path, books, kind):
    options = ("--type", kind, "--vocabulary_size", "150", "--output")
    done = run(tmp_path, *options, "out", "books")
    assert done.returncode == 0, done.stderr
    ours = tokenizer.Tokenizer.from_directory(tmp_path / "out")
    assert ours.type == kind
    assert ours.vocabulary_size <= 150
    assert (
        f"{ours.vocabulary_size} entries ({kind}) from 2 books" in done.stdout
    )
    assert 0 not in ours.encode("it was a bright day.\nsaid the man")
    # The same books give the same files, whatever the folder.
    again = run("/", *options, tmp_path / "again", books)
    assert again.returncode == 0, again.stderr
    for file in (tmp_path / "out").iterdir():
        other = tmp_path / "again" / file.name
        assert other.read_bytes() == file.read_bytes()


def test_says_when_the_text_gives_less(tmp_path, books):
    done = run(
        tmp_path, "--type=bpe", "--vocabulary_size=9000", "--output=o", "books"
    )
    assert done.returncode == 0
    size = tokenizer.Tokenizer.from_directory(tmp_path / "o").vocabulary_size
    assert size < 9000
    assert (
        f"9000 entries were asked for, but the text gives only {size}\n"
        in done.stdout
    )


def test_broken_files_are_named_skipped_and_counted(tmp_path, books):
    (books / "latin.txt").write_bytes(b"caf\xe9 " * 50)
    (books / "nothing.txt").write_bytes(b"")
    (books / "image.txt").write_bytes(b"\x89PNG\0\0" * 50)
    done = run(
        tmp_path, "--type=bpe", "--vocabulary_size=120", "--output=o", "books"
    )
    assert done.returncode == 0
    for name in ("latin.txt", "nothing.txt", "image.txt"):
        assert f"{name}: " in done.stderr
    assert "from 2 books, 3 files skipped" in done.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "--type is missing"),
        (["--typ", "bpe"], "Unknown command line flag"),
        (["--type", "unigram"], "bpe|wordpiece"),
        (["--vocabulary_size", "0"], "not a positive integer"),
        (["--vocabulary_size", "many"], "--vocabulary_size=many"),
        (["--type=bpe", "--vocabulary_size=9", "--output=o"], "no FILE_OR_FOL"),
        (
            ["--type=bpe", "--vocabulary_size=9", "--output=o", "gone"],
            "gone does not exist",
        ),
        (
            ["--type=bpe", "--vocabulary_size=9", "--output=o", "books"],
            "9 entries is too small",
        ),
        (
            ["--type=bpe", "--vocabulary_size=150", "--output=full", "books"],
            "holds a merges.txt already",
        ),
        (
            ["--type=bpe", "--vocabulary_size=150", "--output=file", "books"],
            "is a file",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    tmp_path, books, arguments, message, monkeypatch, capsys
):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "merges.txt").write_text("kept")
    (tmp_path / "file").write_text("kept")
    monkeypatch.chdir(tmp_path)
    assert load().main(arguments) == 2
    lines = capsys.readouterr().err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert errors == lines[-1:] and message in errors[0]
    assert not (tmp_path / "o" / "merges.txt").exists()
    assert (tmp_path / "full" / "merges.txt").read_text() == "kept"


def test_a_mistake_ends_the_command_with_status_2(tmp_path):
    done = run(tmp_path, "--vocabulary_size", "-1")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_several_processes_learn_the_same(tmp_path, books):
    (books / "long.txt").write_text(TEXT * 1700, "utf-8")
    options = ("--type=bpe", "--vocabulary_size=150")
    for number in (1, 2):
        done = run(
            tmp_path,
            *options,
            f"--num_processes={number}",
            f"--output=o{number}",
            "books",
        )
        assert done.returncode == 0, done.stderr
    for name in ("vocabulary.json", "merges.txt"):
        one = (tmp_path / "o1" / name).read_bytes()
        assert one == (tmp_path / "o2" / name).read_bytes()
