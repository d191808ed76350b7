"""Wrong arguments of every tool: one line, status 2, nothing written."""

import importlib
import os
import runpy
import shlex
import sys

import pytest

from gpt1_keras import files
from gpt1_keras.data import shards
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary
from tests.reference import processes
from tests.reference import released_shards
from tools import command_line

TEXT = "The old man went home with his cat, and slept.\n" * 20
LEARN = "--type bpe --output o --vocabulary_size"
PREPARE = "--vocabulary vocabulary.json --merges merges.txt"
# Tool -> lines of arguments, each with a part of its message.
MISTAKES = {
    "benchmark": {
        "--rounds 0": "--rounds: 0: give a number of at least 1",
        "--json=~/no/f.json": f"{os.path.expanduser('~')}/no/f.json: give a",
    },
    "check_glue_submission": {"no.zip": "no.zip is not a file"},
    "convert_huggingface": {
        "": "--preset is missing",
        "--preset p --input openai-gpt": "hub ids are not downloaded",
        "--preset p --output books": "--output books already exists",
        "--input books --preset p": "config.json cannot be read",
    },
    "convert_openai": {
        "": "required: --input, --preset",
        "--input model --preset model": "--preset model already exists",
        "--input model --preset p": "give --num_heads",
    },
    "download_data": {
        "--data d colla": "no data 'colla'; did you mean",
        "--data d story_cloze": "be downloaded: request",
        "--data file/d cola": "file/d: cannot create",
        "--data d --from= cola": "--from is empty",
    },
    "install_lacking": {"--dry-run": "unrecognized arguments: --dry-run"},
    "prepare_corpus": {
        f"{PREPARE} --output out": "required: FILE_OR_FOLDER",
        f"{PREPARE} --output o --held_out_fraction 3 books": "fraction: 3: give",
        "--vocabulary vocabulary.json --output o books": "give --merges",
        f"{PREPARE} --output o --merges /dev/null books": "tokens are missing",
        f"{PREPARE} --output out books/broken.txt": "none of 1 files is a book",
        f"{PREPARE} --output= books": "--output is empty",
        f"{PREPARE} --output file books": "cannot create or write this folder",
        f"{PREPARE} --output . books": "is neither empty nor a prepared corpus",
        f"{PREPARE} --output /proc books": "/proc",
        f"{PREPARE} --output o --seed -1 books": "--seed: -1: give a number",
    },
    "train_tokenizer": {
        f"{LEARN} 9 --type unigram books": "invalid choice: 'unigram'",
        f"{LEARN} 90 ''": "an argument is empty",
        f"{LEARN} 9 books": "raise --vocabulary_size",
        f"{LEARN} 150 --output . books": "already holds a ",
    },
    "word_baselines": {
        "--data . stbs": "did you mean stsb?",
        "--data . --seed -1 sst2": "--seed: -1: give a number of at least 0",
        "--data nowhere cola": "or set --data to the folder",
        "--data= cola": "--data is empty",
        "--data . race": "race is multiple choice",
        "--data . snli": "snli: there are no train examples in .",
    },
}


def main_of(name):
    return importlib.import_module(f"tools.{name}").main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: books/, a vocabulary, model/ of OpenAI, a file."""
    train_vocabulary.train_bpe([TEXT], vocabulary_size=60).save(tmp_path)
    (tmp_path / "books").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"books/{name}.txt").write_text(TEXT + name)
    (tmp_path / "books/broken.txt").write_bytes(b"\0")
    (tmp_path / "file").write_text("kept")
    row = '{"gold_label": "-", "sentence1": "a", "sentence2": "b"}\n'
    (tmp_path / "snli").mkdir()
    (tmp_path / "snli/snli_1.0_train.jsonl").write_text(row)
    released_shards.write_small(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    return tmp_path


@pytest.mark.parametrize("tool", MISTAKES)
def test_mistakes_are_one_line(folder, capfd, tool):
    main = main_of(tool)
    before = set(os.listdir())
    for arguments, expected in MISTAKES[tool].items():
        assert main(shlex.split(arguments)) == 2, arguments
        told = capfd.readouterr()
        assert told.out == "", arguments
        *others, line = told.err.splitlines()
        assert line.startswith("error: ") and expected in line, arguments
        assert all(each.startswith("learning") for each in others)
    # A folder may have been made for what then could not be written.
    assert set(os.listdir()) - before <= {"d", "o", "out"}
    assert (folder / "file").read_text() == "kept"


def test_ctrl_c_is_one_line(capsys):
    @command_line.tool
    def stopped(arguments):
        raise KeyboardInterrupt

    assert stopped([]) == 3
    assert capsys.readouterr().err == "stopped by SIGINT\n"


def test_the_current_folder_is_not_replaced(folder, monkeypatch, capsys):
    os.mkdir("empty")
    monkeypatch.chdir("empty")
    arguments = "--input ../model --preset .".split()
    assert main_of("convert_openai")(arguments) == 2
    assert "--preset . already exists" in capsys.readouterr().err


def test_two_tokenizers_are_not_trained_in_one_folder(folder, capsys):
    os.mkdir("o")
    arguments = shlex.split(f"{LEARN} 60 books/one.txt")
    with files.exclusive("o"):
        assert main_of("train_tokenizer")(arguments) == 2
    assert "o: another process is using it" in capsys.readouterr().err
    assert main_of("train_tokenizer")(arguments) == 0
    assert set(os.listdir("o")) > {"vocabulary.json", "merges.txt"}


def test_prepare_corpus_as_a_program(folder, monkeypatch, caplog):
    (folder / "books/three.txt").write_text("가나 다라 " * 9)
    monkeypatch.setattr(sys, "argv", f"_ {PREPARE} --output out books".split())
    tool = str(processes.ROOT / "tools/prepare_corpus.py")
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(tool, run_name="__main__")
    skipped, overlap, unknown = caplog.messages
    assert "broken.txt: binary" in skipped and "in other books" in overlap
    assert "% of the tokens are unknown to the vocabulary" in unknown
    tokenizer = tokenizer_lib.Tokenizer.from_directory(folder)
    train = shards.Shards.open(folder / "out").split("train")
    text = (folder / "books" / train.names[0]).read_text().strip()
    assert train.read(0, 0, 10**6).tolist() == tokenizer.encode(text)


def test_convert_openai_as_a_program(folder, monkeypatch, capsys):
    arguments = "--input model --preset=~/new/gpt1 --num_heads=2".split()
    monkeypatch.setattr(sys, "argv", ["_", *arguments])
    monkeypatch.setenv("HOME", str(folder))
    tool = str(processes.ROOT / "tools/convert_openai.py")
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(tool, run_name="__main__")
    sizes = "2 layers, 2 heads, width 8, 12 positions, 60 tokens"
    shown = capsys.readouterr().out
    assert shown == f"{folder}/new/gpt1: 2,320 parameters, {sizes}\n"
    assert os.listdir("new") == ["gpt1"]
    (folder / "model/vocab_40000.bpe").write_text("#version: 0.2\n")
    arguments = "--input model --preset torn --num_heads 2".split()
    assert main_of("convert_openai")(arguments) == 2
