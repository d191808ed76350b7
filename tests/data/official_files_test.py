import hashlib
import io
import json
import re
import tarfile
import zipfile

import pytest

from gpt1_keras import errors
from tests.data import mrpc_test
from tests.reference import file_server
from tools.downloads import official_files


def zip_of(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def tar_of(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


CONTENT = {
    "T.zip": zip_of({"T/train.tsv": b"a\tb\n", "T/junk": b"x"}),
    "R.tar.gz": tar_of({"R/1.txt": b"{}", "R/2.txt": b"{}"}),
    "plain.tsv": b"index\n",
}


def remote(server, name, *, is_known=True):
    content = server.files[name]
    if not is_known:
        return official_files.Remote(server.url(name))
    sha256 = hashlib.sha256(content).hexdigest()
    return official_files.Remote(server.url(name), sha256, len(content))


def make(server, *names, **more):
    is_known = more.pop("is_known", True)
    return official_files.Source(
        tuple(remote(server, name, is_known=is_known) for name in names), **more
    )


@pytest.fixture
def server():
    with file_server.FileServer(CONTENT) as made:
        yield made


def tree(folder):
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    )


def test_archives_and_plain_files(server, tmp_path):
    brought = official_files.OfficialFiles(tmp_path)
    for source in (
        make(
            server,
            "T.zip",
            folder="glue",
            results=("T/train.tsv",),
            members=re.compile(r"T/train\.tsv"),
        ),
        make(
            server,
            "R.tar.gz",
            folder="race",
            results=("R",),
            members=re.compile(r"R/\d\.txt"),
        ),
        make(
            server,
            "plain.tsv",
            folder="glue/AX",
            results=("ax.tsv",),
            rename={"plain.tsv": "ax.tsv"},
        ),
    ):
        assert not brought.has(source)
        brought.bring(source)
        assert brought.has(source)
    assert tree(tmp_path) == [
        "downloads.json",
        "glue/AX/ax.tsv",
        "glue/T/train.tsv",
        "race/R/1.txt",
        "race/R/2.txt",
    ]


def test_mrpc(tmp_path):
    (tmp_path / "in").mkdir()
    paths = mrpc_test.write(tmp_path / "in")
    content = {path.name: path.read_bytes() for path in paths}
    (tmp_path / "data").mkdir()
    with file_server.FileServer(content) as server:
        source = make(
            server,
            *content,
            folder="glue/MRPC",
            results=("train.tsv", "dev.tsv", "test.tsv"),
            is_mrpc=True,
        )
        official_files.OfficialFiles(tmp_path / "data").bring(source)
    assert tree(tmp_path / "data") == [
        "downloads.json",
        *(f"glue/MRPC/{split}.tsv" for split in ("dev", "test", "train")),
    ]


def plain(server, **more):
    return make(server, "plain.tsv", folder="x", results=("plain.tsv",), **more)


def test_an_unknown_sum_is_remembered(server, tmp_path, caplog):
    brought = official_files.OfficialFiles(tmp_path)
    source = plain(server, is_known=False)
    brought.bring(source)
    sha256 = hashlib.sha256(CONTENT["plain.tsv"]).hexdigest()
    assert sha256 in caplog.text
    record = json.loads((tmp_path / "downloads.json").read_text())
    assert record == {server.url("plain.tsv"): sha256}
    (tmp_path / "x" / "plain.tsv").unlink()
    server.files["plain.tsv"] = b"other\n"
    with pytest.raises(errors.InputError, match=f"expected {sha256}"):
        brought.bring(source)
    assert tree(tmp_path) == ["downloads.json"]
    (tmp_path / "downloads.json").write_text("{")
    with pytest.raises(errors.InputError, match="downloads.json is damaged"):
        brought.bring(source)


def test_a_mirror(server, tmp_path):
    source = plain(server)
    with file_server.FileServer({"m/plain.tsv": CONTENT["plain.tsv"]}) as other:
        official_files.OfficialFiles(tmp_path, mirror=other.url("m/")).bring(
            source
        )
    assert (tmp_path / "x" / "plain.tsv").read_bytes() == CONTENT["plain.tsv"]
    assert server.requests == []


def test_a_mirror_cannot_give_another_file(server, tmp_path):
    wrong = CONTENT["plain.tsv"].upper()
    with file_server.FileServer({"plain.tsv": wrong}) as other:
        brought = official_files.OfficialFiles(tmp_path, mirror=other.url())
        with pytest.raises(errors.InputError, match="sha256"):
            brought.bring(plain(server))
    assert not brought.has(plain(server))


def test_a_folder_of_this_machine(server, tmp_path):
    folder, data = tmp_path / "folder", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    brought = official_files.OfficialFiles(data, folder=folder)
    with pytest.raises(errors.InputError, match="plain.tsv is missing: fetch"):
        brought.bring(plain(server))
    (folder / "plain.tsv").write_bytes(b"other")
    with pytest.raises(errors.InputError, match="folder/plain.tsv: its sha256"):
        brought.bring(plain(server))
    (folder / "plain.tsv").write_bytes(CONTENT["plain.tsv"])
    brought.bring(plain(server))
    assert brought.has(plain(server))
    assert (folder / "plain.tsv").exists() and server.requests == []


def test_an_archive_of_another_version(server, tmp_path):
    source = make(
        server,
        "T.zip",
        folder="glue",
        results=("T/train.tsv", "T/dev.tsv"),
        members=re.compile(r"T/\w+\.tsv"),
    )
    with pytest.raises(errors.InputError, match="T.zip has no T/dev.tsv"):
        official_files.OfficialFiles(tmp_path).bring(source)


def test_a_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "x").write_text("a file")
    with pytest.raises(errors.InputError, match="x cannot be written"):
        official_files.OfficialFiles(tmp_path).bring(plain(server))
