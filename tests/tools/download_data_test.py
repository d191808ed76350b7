import pytest

from gpt1_keras.data.readers import glue
from tests.reference import file_server
from tests.tools import downloads_test
from tools import download_data
from tools.downloads import official_files

TABLES = {
    "CoLA/train.tsv": b"x\t1\t\tHe sat.\n" * 3,
    "CoLA/dev.tsv": b"x\t0\t*\tSat he.\n",
    "CoLA/test.tsv": b"index\tsentence\n0\tHe ran.\n",
}
ARCHIVE = downloads_test.zip_of(TABLES)


@pytest.fixture
def server(monkeypatch):
    """Serves a small CoLA under the name and sum of the real one."""
    with file_server.FileServer({"CoLA.zip": ARCHIVE}) as made:
        real = official_files.SOURCES["cola"]
        small = downloads_test.source(
            made, "CoLA.zip", folder=real.folder, results=real.results
        )
        monkeypatch.setitem(official_files.SOURCES, "cola", small)
        yield made


def test_a_reader_reads_what_came(server, tmp_path, capsys):
    server.faults = ["drop", "corrupt"]
    arguments = ["--data", str(tmp_path / "new"), "cola"]
    assert download_data.main(arguments) == 0
    assert capsys.readouterr().out == f"cola: {tmp_path}/new/glue\n"
    assert len(glue.read_cola(tmp_path / "new", "train")) == 3
    assert len(glue.read_cola(tmp_path / "new", "test")) == 1
    server.requests.clear()
    assert download_data.main(arguments) == 0
    assert "cola: already there" in capsys.readouterr().out
    assert server.requests == []


def test_one_failure_does_not_stop_the_others(server, tmp_path, capsys):
    arguments = ["--data", str(tmp_path), "rte", "cola"]
    assert download_data.main([*arguments, "--mirror", server.url()]) == 2
    told = capsys.readouterr()
    assert told.out == f"cola: {tmp_path}/glue\n"
    assert told.err.startswith("error: rte: ") and told.err.count("\n") == 1
    assert "404" in told.err


def test_from_a_folder(server, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "CoLA.zip").write_bytes(ARCHIVE)
    arguments = ["--data", tmp_path / "out", "--from", tmp_path / "in", "cola"]
    assert download_data.main(list(map(str, arguments))) == 0
    assert len(glue.read_cola(tmp_path / "out", "dev")) == 1
    assert server.requests == []


def test_lists_and_groups(tmp_path, capsys):
    def listed(*names):
        assert download_data.main(["--list", *names]) == 0
        lines = capsys.readouterr().out.splitlines()
        return list(dict.fromkeys(line.split()[0] for line in lines)), lines

    assert "25,443,609 bytes  http" in listed("race")[1][0]
    assert listed("glue", "rte", "dprd")[0] == [
        *("cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte"),
        *("wnli", "ax", "dprd"),
    ]
    assert listed()[0] == list(official_files.SOURCES)
    assert not list(tmp_path.iterdir())
