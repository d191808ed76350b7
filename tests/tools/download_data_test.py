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
