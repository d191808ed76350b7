"""Wrong arguments of every tool: one line, status 2, nothing written."""

import contextlib
import importlib
import sys

import pytest

from gpt1_keras.evaluation import glue_submission
from gpt1_keras.text import train_vocabulary
from tests.reference import released_shards
from tools import command_line

TEXT = "The old man went home with his cat, and slept.\n" * 20
LEARN = "--type bpe --output o --vocabulary_size"
PREPARE = "--vocabulary vocabulary.json --merges merges.txt"
# Tool -> lines of arguments, each with a part of its message.
MISTAKES = {
    "benchmark": {
        "--section three": "three",
        "--size huge": "huge",
        "--rounds 0": "--rounds: 0: give a number from 1",
        "--json nowhere/b.json": "no such folder",
    },
    "check_glue_submission": {
        "": "required: FILE.zip",
        "a.zip b.zip": "unrecognized arguments: b.zip",
        "no.zip": "no.zip is not a file",
        "--strict a.zip": "unrecognized arguments: --strict",
    },
    "convert_huggingface": {
        "": "--preset is missing",
        "--preset p": "give either --input or --output",
        "--preset p --input i --output o": "give either",
        "--preset p --model m": "--model",
        "--preset p --input openai-gpt": "hub ids are not downloaded",
        "--preset books --input books": "--preset books already exists",
        "--preset p --output books": "--output books already exists",
        "--preset p --output o": "error: `preset`: p ",
        "--preset books --output o": "`preset`: books",
        "--input books --preset p": "config.json is missing",
    },
    "convert_openai": {
        "": "required: --input, --preset",
        "--input model --preset p --layers 3": "--layers",
        "--input model --preset p --num_heads two": "--num_heads",
        "--input nowhere --preset p": "--input nowhere is not a folder",
        "--input model --preset model": "--preset model already exists",
        "--input model --preset file": "--preset file already exists",
        "--input model --preset file/p --num_heads 2": "cannot be written",
        "--input model --preset p": "give --num_heads",
    },
    "download_data": {
        "cola": "--data is missing",
        "--data d colla": "no data 'colla': did you mean",
        "--data d story_cloze": "be downloaded: request",
        "--data d --mirror http://x --from .": "either --mirror or --from",
        "--data d --from nowhere": "nowhere is no folder",
        "--data d --force": "--force",
        "--data file/d cola": "file/d: cannot create",
        "--data d cola --mirror ftp://x": "no http",
    },
    "prepare_corpus": {
        f"{PREPARE} --output out": "required: FILE_OR_FOLDER",
        f"{PREPARE} books": "required: --output",
        "--output out books": "required: --vocabulary",
        f"{PREPARE} --output out --sede 1 books": "unrecognized arguments",
        f"{PREPARE} --output out --seed x books": "--seed",
        f"{PREPARE} --output out --num_processes 0 books": "--num_processes",
        f"{PREPARE} --output o --held_out_fraction 3 books": "fraction` is 3",
        f"{PREPARE} --output o --held_out_books gone books": "gone is not read",
        f"{PREPARE} --output out nowhere": "nowhere does not exist",
        f"{PREPARE} --output out books/broken.txt": "none of 1 files is a book",
        "--vocabulary none.json --output out books": "none.json",
        f"{PREPARE} --output file books": "cannot create this folder",
        f"{PREPARE} --output o --beam DirectRunner books": "-beam.txt",
        f"{PREPARE} --output out --beam_option x books": "needs --beam",
    },
    "train_tokenizer": {
        "": "required: FILE_OR_FOLDER, --type",
        "--typ bpe": "required",
        f"{LEARN} 9 --type unigram books": "invalid choice: 'unigram'",
        f"{LEARN} 0 books": "0: give a number from 1",
        f"{LEARN} many books": "'many'",
        f"{LEARN} 9": "FILE_OR_FOLDER",
        f"{LEARN} 9 gone": "gone does not exist",
        f"{LEARN} 9 books": "9 entries is too small",
        f"{LEARN} 150 --output . books": "already holds a ",
        f"{LEARN} 150 --output file books": "file: cannot create",
    },
    "word_baselines": {
        "--data . stbs": "did you mean 'stsb'?",
        "--data . race": "race is multiple choice",
        "--data . ax": "ax has no training examples",
        "--data . cola --examples 0": "--examples: 0: give",
        "cola": "required: --data",
        "--data .": "required: TASK",
        "--data nowhere cola": "train.tsv does not exist",
    },
}


def main_of(name):
    return importlib.import_module(f"tools.{name}").main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: books/, a vocabulary, model/ of OpenAI, a file."""
    train_vocabulary.train_bpe([TEXT], vocabulary_size=60).save(tmp_path)
    (tmp_path / "books").mkdir()
    (tmp_path / "books/one.txt").write_text(TEXT)
    (tmp_path / "books/broken.txt").write_bytes(b"\0")
    (tmp_path / "file").write_text("kept")
    released_shards.write_small(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    return tmp_path


@pytest.mark.parametrize("tool", MISTAKES)
def test_mistakes_are_one_line(folder, capfd, tool):
    main = main_of(tool)
    before = sorted(folder.rglob("*"))
    for arguments, expected in MISTAKES[tool].items():
        assert main(arguments.split()) == 2, arguments
        told = capfd.readouterr()
        assert told.out == "", arguments
        *skipped, line = told.err.splitlines()
        assert line.startswith("error: ") and expected in line, arguments
        assert all(each.startswith(("skipped", "learning")) for each in skipped)
    made = {path.relative_to(folder).parts[0] for path in folder.rglob("*")}
    # A folder may have been made for what then could not be written.
    assert made - {p.relative_to(folder).parts[0] for p in before} <= {
        *("d", "o", "out"),
    }
    assert (folder / "file").read_text() == "kept"


@pytest.mark.parametrize("tool", [*MISTAKES, "install_lacking"])
def test_help_is_the_docstring(capfd, tool):
    with contextlib.suppress(SystemExit):
        assert main_of(tool)(["--help"]) == 0
    said = capfd.readouterr().out
    assert f"python tools/{tool}.py" in said and "{" not in said


def test_interrupted(capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    assert command_line.run(interrupt, []) == 1
    assert capsys.readouterr().err == "interrupted\n"


def test_submissions_and_their_problems(tmp_path, capsys):
    """The whole tool `check_glue_submission`."""
    path, _ = glue_submission.write(tmp_path, {})
    main = main_of("check_glue_submission")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 11 files, no problem\n"
    few = dict.fromkeys(glue_submission.FILES, 1)
    path, _ = glue_submission.write(tmp_path, {}, num_rows=few)
    assert main([str(path)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert "WNLI.tsv: 1 rows, but the test file has 146" in lines
