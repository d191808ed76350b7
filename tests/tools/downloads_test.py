import hashlib
import io
import tarfile
import zipfile

import numpy as np
import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.data.readers import glue
from gpt1_keras.data.readers import nli
from gpt1_keras.data.readers import question_answering
from gpt1_keras.data.readers import zero_shot as readers
from gpt1_keras.errors import InputError
from tests.reference import file_server
from tools.downloads import fetch as fetch_lib
from tools.downloads import official_files

CONTENT = np.random.default_rng(0).bytes(10_000)


def sum_of(content):
    return hashlib.sha256(content).hexdigest()


SHA256 = sum_of(CONTENT)


@pytest.fixture
def server():
    with file_server.FileServer({"a.bin": CONTENT}) as made:
        yield made


def fetch(server, path, name="a.bin", **more):
    waits = []
    options = {"wait": waits.append, "sha256": SHA256} | more
    return fetch_lib.fetch(server.url(name), path, **options), waits


def assert_whole(path, content=CONTENT):
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@settings(max_examples=80)
@example(faults=["drop", "no ranges"], is_known=True)
@example(faults=["drop", "other part"], is_known=True)
@example(faults=["drop", "not satisfiable"], is_known=True)
@example(faults=["drop", "corrupt"], is_known=True)
@example(faults=["drop", "unsized"], is_known=False)
@given(
    faults=st.lists(st.sampled_from(file_server.FAULTS)),
    is_known=st.booleans(),
)
def test_any_faults_end_in_the_file_or_in_one_line(
    tmp_path_factory, faults, is_known
):
    folder = tmp_path_factory.mktemp("any")
    if not is_known:
        faults = [fault for fault in faults if fault != "corrupt"]
    with file_server.FileServer({"a.bin": CONTENT}) as server:
        server.faults = faults
        try:
            fetch(server, folder / "x", sha256=SHA256 if is_known else None)
        except InputError as error:
            assert "\n" not in str(error)
            assert not (folder / "x").exists()
        else:
            assert_whole(folder / "x")


FILES = {"CoLA/train.tsv": b"a\tb\n", "CoLA/dev.tsv": b"c\n" * 5000}
EXTRA = {"CoLA/original/raw.tsv": b"x", "__MACOSX/CoLA/._train.tsv": b"y"}


def zip_of(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("CoLA/", b"")
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def tar_of(files, kind=tarfile.REGTYPE):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(text)
            member.linkname = "/etc/passwd" if kind != tarfile.REGTYPE else ""
            archive.addfile(member, io.BytesIO(text))
    return content.getvalue()


ARCHIVES = {"a.zip": zip_of, "a.tar.gz": tar_of}


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def unpack(folder, name, content, *, everything=False):
    (folder / name).write_bytes(content)
    fetch_lib.unpack(
        folder / name, folder / "glue", lambda n: everything or n in FILES
    )
    return tree(folder / "glue")


def refuse(folder, name, content, expected, **more):
    with pytest.raises(InputError, match=expected) as raised:
        unpack(folder, name, content, **more)
    assert "\n" not in str(raised.value) and name in str(raised.value)
    assert not tree(folder / "glue")
    assert not list(folder.glob("*.tsv"))


@pytest.mark.parametrize("name", ARCHIVES)
def test_unpack_refuses(tmp_path, name):
    make = ARCHIVES[name]
    outside = ["../x.tsv", "CoLA/../../x.tsv"]
    if name == "a.zip":  # A tar's root is the folder, as for tar itself.
        outside += ["/CoLA/x.tsv", "C:\\x.tsv"]
    for other in outside:
        content = make(FILES | {other: b"x"})
        refuse(tmp_path, name, content, "outside", everything=True)
    refuse(tmp_path, name, make(EXTRA), "has none of the files")
    for content in (b"", b"<html>no</html>" * 100):
        refuse(tmp_path, name, content, "is damaged")


def test_unpack_writes_no_links(tmp_path):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
        content = tar_of(dict.fromkeys(FILES, b""), kind)
        refuse(tmp_path, "a.tar.gz", content, "has none of the files")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        info = zipfile.ZipInfo("CoLA/train.tsv")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    unpack(tmp_path, "a.zip", content.getvalue())
    assert not (tmp_path / "glue/CoLA/train.tsv").is_symlink()


@given(data=st.data(), name=st.sampled_from(sorted(ARCHIVES)))
def test_damage_leaves_no_damaged_file(tmp_path_factory, data, name):
    folder = tmp_path_factory.mktemp("damage")
    content = bytearray(ARCHIVES[name](FILES))
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:place]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    try:
        found = unpack(folder, name, content, everything=True)
    except InputError as error:
        assert "\n" not in str(error)
        assert not tree(folder / "glue")
    else:
        # Times, rights and padding do not matter; of a zip's directory, which
        # has no checksum, a damaged entry may hide a file. (A download's own
        # sha256 is checked before it is unpacked.)
        assert set(found.values()) <= set(FILES.values())


def source(server, *names, folder="x", results=("plain.tsv",), is_known=True):
    found = []
    for name in names or ("plain.tsv",):
        content = server.files[name]
        known = (sum_of(content), len(content)) if is_known else ()
        found.append(official_files.Remote(server.url(name), *known))
    return official_files.Source(folder, list(results), found)


HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"
ROWS = ['1\t7\t8\ta "b\tc', "0\t8\t7\td\te", "1\t9\t10\tf\tg"]


def write_mrpc(folder, *, train=(HEADER, *ROWS), dev_ids=("8\t7",), end="\n"):
    test = (HEADER, "1\t20\t21\th\ti", "0\t22\t23\tj\tk")
    paths = []
    for name, lines in (("a", train), ("b", test), ("c", dev_ids)):
        paths.append(folder / f"{name}.txt")
        text = "".join(line + end for line in lines)
        paths[-1].write_bytes(text.encode("utf-8"))
    return paths


def test_mrpc(tmp_path):
    (tmp_path / "in").mkdir()
    paths = write_mrpc(tmp_path / "in", end="\r\n")
    content = {path.name: path.read_bytes() for path in paths}
    with file_server.FileServer(content) as server:
        tables = ["train.tsv", "dev.tsv", "test.tsv"]
        mrpc = source(server, *content, folder="MRPC", results=tables)
        official_files.OfficialFiles(tmp_path).bring(mrpc)
    wanted = {
        "train.tsv": [HEADER, ROWS[0], ROWS[2]],
        "dev.tsv": [HEADER, ROWS[1]],
        "test.tsv": [
            "index\t#1 ID\t#2 ID\t#1 String\t#2 String",
            "0\t20\t21\th\ti",
            "1\t22\t23\tj\tk",
        ],
    }
    for name, lines in wanted.items():
        text = (tmp_path / "MRPC" / name).read_bytes().decode("utf-8")
        assert text == "\n".join(lines) + "\n"


READERS = {
    name: getattr(module, f"read_{name}")
    for module, names in (
        (glue, "cola sst2 mrpc qqp stsb mnli qnli rte wnli ax"),
        (nli, "snli scitail"),
        (question_answering, "race"),
        (readers, "dprd wsc"),
    )
    for name in names.split()
}
SPLITS = {"ax": ["test"], "wsc": ["test"], "dprd": ["train", "test"]}


def test_readers_look_where_the_results_are(tmp_path):
    """Of a file that is there, though empty, no reader says it is missing."""
    others = {"vocabulary", "weights"}
    assert set(official_files.SOURCES) == READERS.keys() | others
    for name, read in READERS.items():
        each = official_files.SOURCES[name]
        splits = SPLITS.get(name, ["train", "dev", "test"])
        for split in splits:
            with pytest.raises(InputError, match="does not exist"):
                read(tmp_path / name, split)
        for result in each.results:
            path = tmp_path / name / each.folder / result
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if name == "race" else path.write_bytes(b"")
        for split in splits:
            try:
                read(tmp_path / name, split)
            except InputError as error:
                assert "does not exist" not in str(error)


@pytest.mark.needs_data
def test_published_sums_are_those_of_the_files(shared_file):
    sources = official_files.SOURCES.values()
    remotes = {file.name: file for each in sources for file in each.files}
    for place, name in (
        ("gpt1_vocab/encoder_bpe_40000.json", "encoder_bpe_40000.json"),
        ("gpt1_vocab/vocab_40000.bpe", "vocab_40000.bpe"),
        ("glue/diagnostic/diagnostic.tsv", "AX.tsv"),
        ("dpr/test.c.txt", "test.c.txt"),
        ("dpr/train.c.txt", "train.c.txt"),
    ):
        content = shared_file(f"data/{place}").read_bytes()
        if name == "train.c.txt":  # Our copy has one line break more.
            content = content[:-1]
        found = (len(content), sum_of(content))
        assert found == (remotes[name].size, remotes[name].sha256), name
