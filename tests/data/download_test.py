import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies

from gpt1_keras import errors
from tests.reference import file_server
from tools.downloads import fetch as fetch_lib

CONTENT = np.random.default_rng(0).bytes(10_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
OTHER = np.random.default_rng(1).bytes(10_000)


@pytest.fixture
def server():
    with file_server.FileServer({"a.bin": CONTENT}) as made:
        yield made


class Waits(list):
    def __call__(self, seconds):
        self.append(seconds)


def fetch(server, path, name="a.bin", **more):
    return fetch_lib.fetch(
        server.url(name), path, **{"wait": Waits(), "sha256": SHA256} | more
    )


def assert_whole(path, content=CONTENT):
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_file(server, tmp_path):
    waits = Waits()
    found = fetch(server, tmp_path / "x", size=len(CONTENT), wait=waits)
    assert found == SHA256
    assert_whole(tmp_path / "x")
    assert server.requests == [None] and waits == []


def test_a_broken_connection_is_resumed(server, tmp_path):
    server.faults = ["drop", "reset", "busy", "drop"]
    waits = Waits()
    fetch(server, tmp_path / "x", wait=waits)
    assert_whole(tmp_path / "x")
    half = "bytes=5000-"
    assert server.requests == [None, half, half, half, "bytes=7500-"]
    # Longer where nothing came, at once again where something did.
    assert waits == [1.0, 2.0, 4.0, 1.0]


def test_a_later_process_goes_on(server, tmp_path):
    server.faults = ["drop"] + ["reset"] * 5
    with pytest.raises(errors.InputError, match="goes on where"):
        fetch(server, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    server.requests.clear()
    fetch(server, tmp_path / "x")
    assert_whole(tmp_path / "x")
    assert server.requests == ["bytes=5000-"]


def test_a_server_without_ranges(server, tmp_path):
    server.faults = ["drop", "no ranges"]
    fetch(server, tmp_path / "x")
    assert_whole(tmp_path / "x")


def test_a_server_that_always_breaks_is_given_up(server, tmp_path):
    # Never more than the first half arrives.
    server.faults = ["drop"] * 100
    server.validators = False
    with pytest.raises(errors.InputError, match="connection ended after"):
        fetch(server, tmp_path / "x", sha256=None)
    assert len(server.requests) == 6


@pytest.mark.parametrize("fault", ["other part", "not satisfiable"])
def test_a_server_that_answers_another_part(server, tmp_path, fault):
    server.faults = ["drop", fault]
    fetch(server, tmp_path / "x")
    assert_whole(tmp_path / "x")


def test_no_length(server, tmp_path):
    server.faults = ["unsized"]
    fetch(server, tmp_path / "x", sha256=None)
    assert_whole(tmp_path / "x")


def test_one_corrupt_answer_is_asked_for_again(server, tmp_path):
    server.faults = ["corrupt"]
    fetch(server, tmp_path / "x")
    assert_whole(tmp_path / "x")
    assert server.requests == [None, None]


def test_corrupt_bytes_leave_nothing(server, tmp_path):
    server.files["a.bin"] = OTHER
    with pytest.raises(errors.InputError, match="sha256 is .*, expected"):
        fetch(server, tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_a_file_that_changed_is_not_mixed(server, tmp_path, sha256):
    server.files["a.bin"] = OTHER
    server.faults = ["drop"] + ["reset"] * 5
    with pytest.raises(errors.InputError):
        fetch(server, tmp_path / "x", sha256=sha256)
    server.files["a.bin"] = CONTENT
    assert fetch(server, tmp_path / "x", sha256=sha256) == SHA256
    assert_whole(tmp_path / "x")


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_no_version_and_no_sum_to_tell_it(server, tmp_path, sha256):
    """A half is taken up only where what comes out can be checked."""
    server.validators = False
    server.faults = ["drop"]
    fetch(server, tmp_path / "x", sha256=sha256)
    assert_whole(tmp_path / "x")
    assert server.requests == [None, "bytes=5000-" if sha256 else None]


def test_a_whole_part_needs_no_request(server, tmp_path):
    (tmp_path / ".x.part").write_bytes(CONTENT)
    fetch(server, tmp_path / "x", size=len(CONTENT))
    assert_whole(tmp_path / "x")
    assert server.requests == []


@pytest.mark.parametrize(
    "name, more, expected",
    [
        ("b.bin", {}, r"answers 404 .*--mirror"),
        ("a.bin", {"size": 9_999}, "has 10000 bytes, expected 9999"),
    ],
)
def test_another_file(server, tmp_path, name, more, expected):
    with pytest.raises(errors.InputError, match=expected) as raised:
        fetch(server, tmp_path / "x", name, **more)
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_nobody_answers(tmp_path):
    with file_server.FileServer({}) as server:
        url = server.url("a.bin")
    waits = Waits()
    with pytest.raises(errors.InputError, match="cannot be read .*refused"):
        fetch_lib.fetch(url, tmp_path / "x", wait=waits)
    assert waits == [2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "a.bin", "ftp://x/a"])
def test_other_addresses(tmp_path, url):
    with pytest.raises(errors.InputError, match="no http or https address"):
        fetch_lib.fetch(url, tmp_path / "x")


def test_a_folder_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(errors.InputError, match="cannot be written"):
        fetch(server, tmp_path / "file" / "x")


@given(
    faults=strategies.lists(strategies.sampled_from(file_server.FAULTS)),
    is_known=strategies.booleans(),
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
        except errors.InputError as error:
            assert "\n" not in str(error)
            assert not (folder / "x").exists()
        else:
            assert_whole(folder / "x")
