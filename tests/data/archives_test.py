import io
import re
import stat
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies

from gpt1_keras import errors
from tools.downloads import fetch

WANTED = re.compile(r"CoLA/\w+\.tsv")
FILES = {"CoLA/train.tsv": b"a\tb\n", "CoLA/dev.tsv": b"c\n" * 5000}
EXTRA = {"CoLA/original/raw.tsv": b"x", "__MACOSX/CoLA/._train.tsv": b"y"}


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("CoLA/", b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def write_tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


WRITERS = {"a.zip": write_zip, "a.tar.gz": write_tar}


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refuse(archive, directory, expected, **more):
    with pytest.raises(errors.InputError, match=expected) as raised:
        fetch.unpack(archive, directory, WANTED, **more)
    assert "\n" not in str(raised.value)
    assert archive.name in str(raised.value)
    assert not tree(directory)


@pytest.fixture(params=WRITERS)
def write(request, tmp_path):
    return lambda files: WRITERS[request.param](tmp_path / request.param, files)


def test_takes_what_is_wanted(write, tmp_path):
    found = fetch.unpack(write(FILES | EXTRA), tmp_path / "glue", WANTED)
    assert found == sorted(FILES)
    assert tree(tmp_path / "glue") == FILES


def test_beside_what_is_there(write, tmp_path):
    mine = tmp_path / "glue" / "CoLA"
    mine.mkdir(parents=True)
    (mine / "my.txt").write_bytes(b"mine")
    (mine / "dev.tsv").write_bytes(b"half")
    fetch.unpack(write(FILES), tmp_path / "glue", WANTED)
    assert tree(tmp_path / "glue") == FILES | {"CoLA/my.txt": b"mine"}


@pytest.mark.parametrize(
    "name",
    ["../CoLA/train.tsv", "/CoLA/train.tsv", "CoLA/../../x", "C:\\x.tsv"],
)
def test_names_that_lead_outside(write, tmp_path, name):
    refuse(
        write(FILES | {name: b"x"}), tmp_path / "glue", "leads outside: nothing"
    )
    assert not list(tmp_path.glob("*.tsv"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_twice(write, tmp_path):
    refuse(
        write(FILES | {"./CoLA/dev.tsv": b"x"}),
        tmp_path / "glue",
        "dev.tsv stands there twice",
    )


def test_links(tmp_path):
    path = tmp_path / "a.tar.gz"
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
        with tarfile.open(path, "w:gz") as archive:
            member = tarfile.TarInfo("CoLA/train.tsv")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        refuse(path, tmp_path / "glue", "no file but a link")
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("CoLA/train.tsv")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    refuse(path, tmp_path / "glue", "no file but a link")


def test_too_much(write, tmp_path):
    total = sum(map(len, FILES.values()))
    fetch.unpack(write(FILES), tmp_path / "a", WANTED, max_bytes=total)
    refuse(
        write(FILES),
        tmp_path / "glue",
        f"{total} bytes unpacked",
        max_bytes=total - 1,
    )


def test_another_archive(write, tmp_path):
    refuse(write(EXTRA), tmp_path / "glue", "holds no file")


@pytest.mark.parametrize("content", [b"", b"<html>no</html>" * 100])
def test_no_archive(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    refuse(tmp_path / "a.zip", tmp_path / "glue", "is damaged")


@given(data=strategies.data(), name=strategies.sampled_from(sorted(WRITERS)))
def test_damage_leaves_no_damaged_file(tmp_path_factory, data, name):
    folder = tmp_path_factory.mktemp("damage")
    path = WRITERS[name](folder / name, FILES)
    content = bytearray(path.read_bytes())
    place = data.draw(strategies.integers(0, len(content) - 1))
    if data.draw(strategies.booleans()):
        content = content[:place]
    else:
        content[place] ^= data.draw(strategies.integers(1, 255))
    path.write_bytes(content)
    try:
        fetch.unpack(path, folder / "glue", re.compile(".*"))
    except errors.InputError as error:
        assert "\n" not in str(error)
        assert not tree(folder / "glue")
    else:
        # Times, rights and padding do not matter; of a zip's directory, which
        # has no checksum, a damaged entry may hide a file. (A download's own
        # sha256 is checked before it is unpacked.)
        assert set(tree(folder / "glue").values()) <= set(FILES.values())
