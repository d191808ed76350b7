import hashlib
import math
import os
import pathlib
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras import files
from gpt1_keras.errors import InputError

HOLD = """
import sys, time
from gpt1_keras import files
with files.exclusive(sys.argv[1], name=".lock"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("content", ["grün\n", b"\x00\xff", ""])
def test_write_atomic_writes_and_replaces(tmp_path, content):
    (tmp_path / "a").write_text("long old content")
    files.write_atomic(tmp_path / "a", content)
    expected = content if isinstance(content, bytes) else content.encode()
    assert (tmp_path / "a").read_bytes() == expected
    assert os.listdir(tmp_path) == ["a"]


def test_a_killed_or_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    program = (
        "import os, signal; from gpt1_keras import files;"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL);"
        f"files.write_atomic({str(path)!r}, 'new')"
    )
    result = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert result.returncode == -9
    assert path.read_text() == "old"

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        files.write_atomic(path, "new")
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(f".a.{os.getpid()}.tmp"))


def test_user_path_expands_and_refuses_in_one_line():
    assert files.user_path("A", "~/x") == pathlib.Path.home() / "x"
    assert files.user_path("A", "no/such") == pathlib.Path("no/such")
    for value in ("~nosuchuser/x", "a\0b", "x" * 300, "\udcff\0"):
        with pytest.raises(InputError) as caught:
            files.user_path("CORPUS", value)
        message = str(caught.value)
        assert message.startswith("CORPUS ") and message.isprintable()
        assert len(message) < 200


def test_hashes(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 100_000)
    expected = hashlib.sha256(b"abc" * 100_000).hexdigest()
    assert files.sha256(tmp_path / "a") == expected
    expected = hashlib.sha256('["é", 1.0]'.encode()).hexdigest()
    assert files.sha256_of_json(["é", 1.0]) == expected


def test_folders(tmp_path):
    assert files.make_folder(f"{tmp_path}/a/b") == tmp_path / "a" / "b"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot create this folder"):
        files.make_folder(tmp_path / "file" / "b")
    files.sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        files.sync(tmp_path / "missing")


def test_one_process_at_a_time(tmp_path, request):
    def hold(seconds):
        command = [sys.executable, "-c", HOLD, tmp_path, str(seconds)]
        root = request.config.rootpath
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root)
        assert process.stdout.readline() == b"held\n"
        return process

    with hold(60) as process:
        with pytest.raises(InputError, match="another process is using"):
            with files.exclusive(tmp_path, name=".lock"):
                pass
        with files.exclusive(tmp_path):
            pass  # another lock
        process.kill()
        process.wait()
        with files.exclusive(tmp_path, name=".lock"):
            pass  # a killed process holds nothing
    with hold(1.0) as process:
        started = time.monotonic()
        with files.exclusive(tmp_path, name=".lock", wait=True):
            assert time.monotonic() - started > 0.3
            assert process.wait(10) == 0


LINES = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("\\nrtu0\n\r\t\x0b\x0c\x1c\x7f\x85\u2028\u2029")
)


@given(LINES)
def test_escaped_text_is_one_line(text):
    escaped = files.escape_line(text)
    assert len(f"x{escaped}".splitlines()) == 1 and "\t" not in escaped
    line = files.json_line({"text": text})
    assert (
        len(line.splitlines()) == 1 and files.parse_json(line)["text"] == text
    )


def test_parse_json():
    for text, expected in (
        ("[1]", "not a JSON object"),
        ('{"a": 1} x', "invalid JSON (Extra data: line 1 column 10)"),
        (b'{"a": "\xff"}', "invalid JSON ('utf-8' codec"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "invalid JSON (Exceeds the limit"),
    ):
        with pytest.raises(ValueError) as caught:
            files.parse_json(text)
        assert expected in str(caught.value) and len(str(caught.value)) < 200
    assert math.isnan(files.parse_json('{"a": NaN}')["a"])
    for number in ("NaN", "-Infinity", "1e999"):
        with pytest.raises(ValueError, match="not a finite number"):
            files.parse_json(f'{{"a": {number}}}', is_finite=True)
    files.check_kinds({"a": 1, "b": "x", "c": []}, {"a": int, "b": str})
    for found in ({"a": -1}, {"a": True}, {"a": 1.0}, {"a": 2**53}, {}, [1]):
        with pytest.raises(ValueError, match="^'a' is "):
            files.check_kinds(found, {"a": int})
