import hashlib
import importlib.util
import pathlib
import subprocess
import sys

import pytest

from gpt1_keras.data.readers import glue
from tests.data import official_files_test
from tests.reference import file_server
from tools.downloads import official_files

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/download_data.py"
TABLES = {
    "CoLA/train.tsv": b"x\t1\t\tHe sat.\n" * 3,
    "CoLA/dev.tsv": b"x\t0\t*\tSat he.\n",
    "CoLA/test.tsv": b"index\tsentence\n0\tHe ran.\n",
}
ARCHIVE = official_files_test.zip_of(TABLES)


def load():
    spec = importlib.util.spec_from_file_location("download_data", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def server(monkeypatch):
    """Serves a small CoLA under the name and sum of the real one."""
    with file_server.FileServer({"CoLA.zip": ARCHIVE}) as made:
        real = official_files.SOURCES["cola"]
        remote = official_files.Remote(
            made.url("CoLA.zip"),
            hashlib.sha256(ARCHIVE).hexdigest(),
            len(ARCHIVE),
        )
        small = official_files.Source(
            (remote,), real.folder, real.results, real.members
        )
        monkeypatch.setitem(official_files.SOURCES, "cola", small)
        yield made


def test_a_reader_reads_what_came(server, tmp_path, capsys):
    server.faults = ["drop", "corrupt"]
    tool = load()
    arguments = ["--data", str(tmp_path / "new"), "cola"]
    assert tool.main(arguments) == 0
    assert capsys.readouterr().out == f"cola: {tmp_path}/new/glue\n"
    assert len(glue.read_cola(tmp_path / "new", "train")) == 3
    assert len(glue.read_cola(tmp_path / "new", "test")) == 1
    server.requests.clear()
    assert tool.main(arguments) == 0
    assert "cola: is there" in capsys.readouterr().out
    assert server.requests == []


def test_one_failure_does_not_stop_the_others(server, tmp_path, capsys):
    arguments = ["--data", str(tmp_path), "rte", "cola"]
    assert load().main([*arguments, "--mirror", server.url()]) == 2
    told = capsys.readouterr()
    assert told.out == f"cola: {tmp_path}/glue\n"
    assert told.err.startswith("error: rte: ") and told.err.count("\n") == 1
    assert "404" in told.err


def test_from_a_folder(server, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "CoLA.zip").write_bytes(ARCHIVE)
    folder = ["--from", str(tmp_path / "in")]
    assert load().main(["--data", str(tmp_path / "out"), *folder, "cola"]) == 0
    assert len(glue.read_cola(tmp_path / "out", "dev")) == 1
    assert server.requests == []


MISTAKES = {
    "no data": (["cola"], "--data is missing"),
    "unknown": (["--data", "d", "colla"], "no data 'colla': did you mean"),
    "by hand": (["--data", "d", "story_cloze"], "cannot be fetched: ask for"),
    "both": (
        ["--data", "d", "--mirror", "http://x", "--from", "."],
        "give either --mirror or --from",
    ),
    "no folder": (["--data", "d", "--from", "nowhere"], "nowhere is no folder"),
    "option": (["--data", "d", "--force"], "--force"),
    "data": (["--data", "file/d", "cola"], "--data file/d cannot be made"),
    "mirror": (["--data", "d", "cola", "--mirror", "ftp://x"], "no http"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_one_line(tmp_path, monkeypatch, capsys, name):
    arguments, expected = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    assert load().main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert expected in told.err


def test_groups_and_all():
    tool = load()
    assert list(tool._choose(["glue", "rte", "dprd"])) == [
        *("cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte"),
        *("wnli", "ax", "dprd"),
    ]
    assert tool._choose([]) == official_files.SOURCES


def test_list_and_help_from_the_shell(tmp_path):
    for arguments, expected in (
        (["--list", "race"], "25,443,609 bytes  http"),
        (["--help"], "--from FOLDER"),
    ):
        done = subprocess.run(
            [sys.executable, str(TOOL), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
    assert not list(tmp_path.iterdir())
