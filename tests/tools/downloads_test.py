import hashlib
import io
import json
import re
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
from gpt1_keras.data.readers import winograd
from gpt1_keras.errors import InputError
from tests.reference import file_server
from tools.downloads import fetch as fetch_lib
from tools.downloads import official_files

CONTENT = np.random.default_rng(0).bytes(10_000)
OTHER = np.random.default_rng(1).bytes(10_000)


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


def test_a_broken_connection_is_resumed(server, tmp_path):
    server.faults = ["drop", "reset", "busy", "drop"]
    found, waits = fetch(server, tmp_path / "x", size=len(CONTENT))
    assert found == SHA256
    assert_whole(tmp_path / "x")
    half = "bytes=5000-"
    assert server.requests == [None, half, half, half, "bytes=7500-"]
    # Longer where nothing came, at once again where something did.
    assert waits == [1.0, 2.0, 4.0, 1.0]


def test_a_later_process_resumes(server, tmp_path):
    server.faults = ["drop"] + ["reset"] * 5
    with pytest.raises(InputError, match="the same command resumes"):
        fetch(server, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    server.requests.clear()
    fetch(server, tmp_path / "x")
    assert_whole(tmp_path / "x")
    assert server.requests == ["bytes=5000-"]
    # A whole part needs no request.
    (tmp_path / "x").rename(tmp_path / ".x.part")
    fetch(server, tmp_path / "x", size=len(CONTENT))
    assert_whole(tmp_path / "x")
    assert server.requests == ["bytes=5000-"]


def test_a_server_that_always_breaks_is_given_up(server, tmp_path):
    # Never more than the first half arrives.
    server.faults = ["drop"] * 100
    with pytest.raises(InputError, match="connection ended after 5000"):
        fetch(server, tmp_path / "x", sha256=None)
    assert server.requests == [None] * 6


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_a_file_that_changed_is_not_mixed(server, tmp_path, sha256):
    server.files["a.bin"] = OTHER
    server.faults = ["drop"] + ["reset"] * 5
    with pytest.raises(InputError):
        fetch(server, tmp_path / "x", sha256=sha256)
    server.files["a.bin"] = CONTENT
    assert fetch(server, tmp_path / "x", sha256=sha256)[0] == SHA256
    assert_whole(tmp_path / "x")


def test_another_file_is_refused_in_one_line(server, tmp_path):
    server.files["other"] = OTHER
    for name, more, expected in (
        ("b.bin", {}, r"answers 404 .*--mirror"),
        ("a.bin", {"size": 9_999}, "has 10000 bytes, expected 9999"),
        ("other", {}, "checksum mismatch: its sha256 is .*, expected"),
    ):
        with pytest.raises(InputError, match=expected) as raised:
            fetch(server, tmp_path / "x", name, **more)
        assert "\n" not in str(raised.value)
        assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        fetch(server, tmp_path / "file" / "x")


def test_nobody_answers(tmp_path):
    with file_server.FileServer({}) as server:
        pass
    with pytest.raises(InputError, match="cannot be read .*refused"):
        fetch(server, tmp_path / "x")
    for url in ("file:///etc/passwd", "a.bin", "ftp://x/a"):
        with pytest.raises(InputError, match="no http or https address"):
            fetch_lib.fetch(url, tmp_path / "x")


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
def test_unpack_takes_what_is_wanted(tmp_path, name):
    mine = tmp_path / "glue" / "CoLA"
    mine.mkdir(parents=True)
    (mine / "my.txt").write_bytes(b"mine")
    (mine / "dev.tsv").write_bytes(b"half")
    found = unpack(tmp_path, name, ARCHIVES[name](FILES | EXTRA))
    assert found == FILES | {"CoLA/my.txt": b"mine"}


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


SERVED = {
    "T.zip": zip_of({"T/train.tsv": b"a\tb\n", "T/junk": b"x"}),
    "R.tar.gz": tar_of({"R/1.txt": b"{}", "R/2.txt": b"{}", "X/3.txt": b""}),
    "plain.tsv": b"index\n",
}


@pytest.fixture
def official():
    with file_server.FileServer(SERVED) as made:
        yield made


def source(server, *names, folder="x", results=("plain.tsv",), is_known=True):
    found = []
    for name in names or ("plain.tsv",):
        content = server.files[name]
        known = (sum_of(content), len(content)) if is_known else ()
        found.append(official_files.Remote(server.url(name), *known))
    return official_files.Source(folder, list(results), found)


def test_archives_and_plain_files(official, tmp_path):
    brought = official_files.OfficialFiles(tmp_path)
    for each in (
        source(official, "T.zip", folder="glue", results=["T/train.tsv"]),
        source(official, "R.tar.gz", folder="race", results=["R"]),
        source(official, folder="glue/AX", results=["ax.tsv"]),
    ):
        assert not brought.has(each)
        brought.bring(each)
        assert brought.has(each)
    assert set(tree(tmp_path)) == {
        *("downloads.json", "glue/AX/ax.tsv", "glue/T/train.tsv"),
        *("race/R/1.txt", "race/R/2.txt"),
    }
    other = source(official, "T.zip", results=["T/train.tsv", "T/dev.tsv"])
    with pytest.raises(InputError, match="T.zip has no T/dev.tsv"):
        brought.bring(other)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(InputError, match="file cannot be written"):
        brought.bring(source(official, folder="file"))


def test_an_unknown_sum_is_recorded(official, tmp_path, caplog):
    brought = official_files.OfficialFiles(tmp_path)
    plain = source(official, is_known=False)
    brought.bring(plain)
    sha256 = sum_of(SERVED["plain.tsv"])
    assert sha256 in caplog.text
    record = json.loads((tmp_path / "downloads.json").read_text())
    assert record == {official.url("plain.tsv"): sha256}
    (tmp_path / "x" / "plain.tsv").unlink()
    official.files["plain.tsv"] = b"other\n"
    with pytest.raises(InputError, match=f"expected {sha256}"):
        brought.bring(plain)
    assert set(tree(tmp_path)) == {"downloads.json"}
    (tmp_path / "downloads.json").write_text("{")
    with pytest.raises(InputError, match="downloads.json is damaged"):
        brought.bring(plain)


def test_a_mirror_gives_the_same_files_only(official, tmp_path):
    served = {"m/plain.tsv": SERVED["plain.tsv"], "plain.tsv": b"INDEX\n"}
    with file_server.FileServer(served) as other:
        brought = official_files.OfficialFiles(tmp_path, mirror=other.url())
        with pytest.raises(InputError, match="sha256"):
            brought.bring(source(official))
        assert not brought.has(source(official))
        brought = official_files.OfficialFiles(tmp_path, mirror=other.url("m/"))
        brought.bring(source(official))
    assert (tmp_path / "x" / "plain.tsv").read_bytes() == SERVED["plain.tsv"]
    assert official.requests == []


def test_a_folder_of_this_machine(official, tmp_path):
    folder, data = tmp_path / "folder", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    brought = official_files.OfficialFiles(data, folder=folder)
    with pytest.raises(InputError, match="plain.tsv is missing: fetch"):
        brought.bring(source(official))
    (folder / "plain.tsv").write_bytes(b"other")
    with pytest.raises(InputError, match="plain.tsv: checksum mismatch"):
        brought.bring(source(official))
    (folder / "plain.tsv").write_bytes(SERVED["plain.tsv"])
    brought.bring(source(official))
    assert brought.has(source(official))
    assert (folder / "plain.tsv").exists() and official.requests == []


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


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_mrpc(tmp_path, end):
    (tmp_path / "in").mkdir()
    paths = write_mrpc(tmp_path / "in", end=end)
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


def test_other_files_than_those_of_mrpc(tmp_path):
    for changes, expected in (
        ({"dev_ids": ("1\t2",)}, "0 of its pairs"),
        ({"dev_ids": ("<html>",)}, "c.txt line 1 has 1 columns, not 2"),
        ({"train": (HEADER, "1\t7")}, "a.txt line 2 has 2 columns, not 5"),
    ):
        with pytest.raises(InputError, match=expected):
            paths = write_mrpc(tmp_path, **changes)
            official_files.write_mrpc(*paths, tmp_path)
        assert not list(tmp_path.glob("*.tsv"))


READERS = {
    name: getattr(module, f"read_{name}")
    for module, names in (
        (glue, "cola sst2 mrpc qqp stsb mnli qnli rte wnli ax"),
        (nli, "snli scitail"),
        (question_answering, "race"),
        (winograd, "dprd wsc"),
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


def test_addresses_and_sums():
    sources = official_files.SOURCES.values()
    remotes = {file for each in sources for file in each.files}
    assert len({file.name for file in remotes}) == len(remotes)
    for file in remotes:
        assert re.fullmatch(r"https://[^ ?#]+/[\w.-]+", file.url)
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    unknown = {file.name for file in remotes if file.sha256 is None}
    assert unknown == {
        *("WSCollection.xml", "params_shapes.json"),
        *(f"params_{i}.npy" for i in range(10)),
    }


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
