import subprocess
import sys

import pytest

from gpt1_keras.data import shards
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary

TEXT = "The old man went home with his cat, and slept.\n" * 20


@pytest.fixture
def folder(tmp_path):
    """A folder with books/, vocabulary.json and merges.txt."""
    train_vocabulary.train_bpe([TEXT], vocabulary_size=60).save(tmp_path)
    (tmp_path / "books").mkdir()
    for name in ("one", "two"):
        (tmp_path / "books" / f"{name}.txt").write_text(TEXT + name)
    (tmp_path / "books" / "broken.txt").write_bytes(b"\0")
    return tmp_path


@pytest.fixture
def tool(folder, request):
    path = request.config.rootpath / "tools" / "prepare_corpus.py"

    def call(*arguments):
        return subprocess.run(
            [sys.executable, str(path), *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
        )

    return call


GIVEN = ["--vocabulary", "vocabulary.json", "--merges", "merges.txt"]


def test_prepares_from_any_directory(folder, tool):
    done = tool(*GIVEN, "--output", "out", "books")
    assert done.returncode == 0, done.stderr
    assert (
        "2 books" in done.stdout and "skipped broken.txt: binary" in done.stdout
    )
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        folder / "vocabulary.json", folder / "merges.txt"
    )
    prepared = shards.Shards.open(
        folder / "out", tokenizer_sha256=tokenizer.sha256
    )
    train = prepared.split("train")
    name = train.names[0]
    expected = tokenizer.encode((folder / "books" / name).read_text().strip())
    assert train.read(0, 0, 10**6).tolist() == expected


def test_beam_makes_the_same_files(folder, tool):
    pytest.importorskip("apache_beam")
    many = ["--beam", "DirectRunner", "--beam_option=--direct_num_workers=1"]
    for output, more in (("one", []), ("many", many)):
        done = tool(*GIVEN, "--output", output, *more, "books")
        assert done.returncode == 0, done.stderr
    names = [path.name for path in (folder / "one").glob("[!.]*.*")]
    assert {"index.json", "shard_00000.bin"} <= set(names)
    for name in names:
        ours, theirs = folder / "many" / name, folder / "one" / name
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*GIVEN, "--output", "out"], "no FILE_OR_FOLDER"),
        ([*GIVEN, "books"], "--output is missing"),
        (["--output", "out", "books"], "--vocabulary is missing"),
        (
            [*GIVEN, "--output", "out", "--sede", "1", "books"],
            "Unknown command line flag 'sede'",
        ),
        ([*GIVEN, "--output", "out", "--seed", "x", "books"], "--seed=x"),
        (
            [*GIVEN, "--output", "out", "--num_processes", "0", "books"],
            "num_processes",
        ),
        (
            [*GIVEN, "--output", "out", "--held_out_fraction", "3", "books"],
            "held_out_fraction` is 3",
        ),
        ([*GIVEN, "--output", "out", "nowhere"], "nowhere does not exist"),
        (
            [*GIVEN, "--output", "out", "books/broken.txt"],
            "none of 1 files is a book",
        ),
        (
            [
                "--vocabulary",
                "none.json",
                "--merges",
                "merges.txt",
                "--output",
                "out",
                "books",
            ],
            "none.json",
        ),
        (
            [*GIVEN, "--output", "merges.txt", "books"],
            "cannot be made a folder",
        ),
        (
            [*GIVEN, "--output", "out", "--beam", "DirectRunner", "books"],
            "pip install -r requirements-beam.txt",
        ),
        (
            [*GIVEN, "--output", "out", "--beam_option", "--x=1", "books"],
            "--beam_option needs --beam",
        ),
    ],
)
def test_mistakes_exit_with_2_and_one_line(
    capsys, monkeypatch, folder, request, arguments, message
):
    monkeypatch.syspath_prepend(request.config.rootpath / "tools")
    import prepare_corpus

    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    assert prepare_corpus.main(arguments) == 2
    lines = capsys.readouterr().err.strip().split("\n")
    assert (
        len(lines) == 1
        and lines[0].startswith("error: ")
        and message in lines[0]
    )


def test_a_mistake_in_its_own_process(tool):
    done = tool("--output", "out")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_help(tool):
    done = tool("--help")
    assert done.returncode == 0 and "FILE_OR_FOLDER" in done.stdout
