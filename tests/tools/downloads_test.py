import hashlib
import io
import tarfile
import zipfile

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras.errors import InputError
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import zero_shot
from tests.reference import data_files
from tests.reference import file_server
from tools import download_data
from tools.downloads import fetch as fetch_lib
from tools.downloads import official_files

CONTENT = np.random.default_rng(0).bytes(10_000)


def sum_of(content):
    return hashlib.sha256(content).hexdigest()


@hypothesis.settings(max_examples=80)
@hypothesis.example(faults=["drop", "no ranges"], is_known=True)
@hypothesis.example(faults=["drop", "other part"], is_known=True)
@hypothesis.example(faults=["drop", "not satisfiable"], is_known=True)
@hypothesis.example(faults=["drop", "corrupt"], is_known=True)
@hypothesis.example(faults=["drop", "unsized"], is_known=False)
@hypothesis.given(
    faults=st.lists(st.sampled_from(file_server.FAULTS)), is_known=st.booleans()
)
def test_any_faults_end_in_the_file_or_in_one_line(
    tmp_path_factory, faults, is_known
):
    folder, sha256 = tmp_path_factory.mktemp("any"), sum_of(CONTENT)
    if not is_known:
        faults = [fault for fault in faults if fault != "corrupt"]
        sha256 = None
    with file_server.FileServer({"a.bin": CONTENT}) as server:
        server.faults = faults
        try:
            fetch_lib.fetch(
                server.url("a.bin"), folder / "x", sha256=sha256, wait=int
            )
        except InputError:
            assert not (folder / "x").exists()
        else:
            assert data_files.contents(folder) == {"x": CONTENT}


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


def unpack(folder, name, content, *, everything=False):
    (folder / name).write_bytes(content)
    fetch_lib.unpack(
        folder / name, folder / "glue", lambda n: everything or n in FILES
    )
    return data_files.contents(folder / "glue")


def refuse(folder, name, content, expected, **more):
    with pytest.raises(InputError, match=f"{name}.*{expected}"):
        unpack(folder, name, content, **more)
    assert list(data_files.contents(folder)) == [name]


@pytest.mark.parametrize("name", ARCHIVES)
def test_unpack_refuses(tmp_path, name):
    make = ARCHIVES[name]
    outside = ["../x.tsv", "CoLA/../../x.tsv"]
    if name == "a.zip":  # A tar's root is the folder, as for tar itself.
        outside += ["/CoLA/x.tsv", "C:\\x.tsv"]
    for other in outside:
        content = make(FILES | {other: b"x"})
        refuse(tmp_path, name, content, "outside", everything=True)
    refuse(tmp_path, name, make(EXTRA), "has none of the expected files")
    for content in (b"", b"<html>no</html>" * 100):
        refuse(tmp_path, name, content, "is damaged")


def test_unpack_writes_no_links(tmp_path):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
        content = tar_of(dict.fromkeys(FILES, b""), kind)
        refuse(tmp_path, "a.tar.gz", content, "has none of the expected files")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        info = zipfile.ZipInfo("CoLA/train.tsv")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    unpack(tmp_path, "a.zip", content.getvalue())
    assert not (tmp_path / "glue/CoLA/train.tsv").is_symlink()


@hypothesis.given(data=st.data(), name=st.sampled_from(sorted(ARCHIVES)))
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
    except InputError:
        assert not data_files.contents(folder / "glue")
    else:
        # Times, rights and padding do not matter; of a zip's directory, which
        # has no checksum, a damaged entry may hide a file. (A download's own
        # sha256 is checked before it is unpacked.)
        assert set(found.values()) <= set(FILES.values())


def source(server, folder, results):
    """All files of a server as those of a data set."""
    remotes = [
        official_files.Remote(server.url(name), sum_of(content), len(content))
        for name, content in server.files.items()
    ]
    return official_files.Source(folder, results, remotes)


HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"
ROWS = ['1\t7\t8\ta "b\tc', "0\t8\t7\td\te", "1\t9\t10\tf\tg"]


def test_mrpc(tmp_path):
    given = {
        "a.txt": [HEADER, *ROWS],
        "b.txt": [HEADER, "1\t20\t21\th\ti", "0\t22\t23\tj\tk"],
        "c.txt": ["8\t7"],
    }
    wanted = {
        "train.tsv": [HEADER, ROWS[0], ROWS[2]],
        "dev.tsv": [HEADER, ROWS[1]],
        "test.tsv": [
            "index\t#1 ID\t#2 ID\t#1 String\t#2 String",
            *("0\t20\t21\th\ti", "1\t22\t23\tj\tk"),
        ],
    }
    given = {n: "\r\n".join([*x, ""]).encode() for n, x in given.items()}
    with file_server.FileServer(given) as server:
        mrpc = source(server, "MRPC", list(wanted))
        official_files.OfficialFiles(tmp_path).bring(mrpc)
    found = data_files.contents(tmp_path / "MRPC")
    for name, lines in wanted.items():
        assert found[name].decode("utf-8") == "\n".join([*lines, ""])


def test_a_reader_reads_what_came(monkeypatch, tmp_path, capsys):
    """A small CoLA under the name and sum of the real one."""
    tables = {
        "CoLA/train.tsv": b"x\t1\t\tHe sat.\n" * 3,
        "CoLA/dev.tsv": b"x\t0\t*\tSat he.\n",
        "CoLA/test.tsv": b"index\tsentence\n0\tHe ran.\n",
    }
    arguments = ["--data", str(tmp_path / "new"), "cola"]
    with file_server.FileServer({"CoLA.zip": zip_of(tables)}) as server:
        real = official_files.SOURCES["cola"]
        small = source(server, real.folder, real.results)
        monkeypatch.setitem(official_files.SOURCES, "cola", small)
        server.faults = ["drop", "corrupt"]
        assert download_data.main(arguments) == 0
        assert capsys.readouterr().out == f"cola: {tmp_path}/new/glue\n"
        server.requests.clear()
        assert download_data.main(arguments) == 0
        assert "cola: already there" in capsys.readouterr().out
        assert server.requests == []
    for split, count in {"train": 3, "dev": 1, "test": 1}.items():
        assert len(READERS["cola"](tmp_path / "new", split)) == count


TASKS = [
    *(
        task
        for name, task in benchmarks.BENCHMARKS.items()
        if name != "story_cloze"
    ),
    *map(zero_shot.task, ("dprd", "wsc")),
]
READERS = {task.name: task.reader for task in TASKS}
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
