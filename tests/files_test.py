import errno
import os
import subprocess
import sys
import time
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras import files
from gpt1_keras.errors import InputError
from tests.reference import processes

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
    files.write_atomic(tmp_path / "new" / "folder" / "b", content)
    assert (tmp_path / "new" / "folder" / "b").read_bytes() == expected


def test_a_killed_or_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    program = (
        "import os, signal; from gpt1_keras import files;"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL);"
        f"files.write_atomic({str(path)!r}, 'new')"
    )
    assert processes.python("-c", program).returncode == -9
    assert path.read_text() == "old"

    fail = mock.Mock(side_effect=[OSError(28, "No room"), KeyboardInterrupt])
    monkeypatch.setattr(os, "fsync", fail)
    for expected in ("No room: '/.*/a'", "^$"):
        with pytest.raises((OSError, KeyboardInterrupt), match=expected):
            files.write_atomic(path, "new")
    assert path.read_text() == "old"
    (left,) = tmp_path.glob(".a.*.tmp")  # of the killed process


def test_a_full_disk_names_the_folder(tmp_path):
    for error, expected in (
        (OSError(errno.ENOSPC, "No space left"), f"'{tmp_path}/new'"),
        (OSError("as h5py says"), "as h5py says"),
    ):
        with pytest.raises(OSError) as caught:
            with files.new_folder(tmp_path / "new"):
                raise error
        assert str(caught.value).endswith(expected)
        assert not list(tmp_path.iterdir())


def test_one_process_at_a_time(tmp_path):
    def hold(seconds):
        command = [sys.executable, "-c", HOLD, tmp_path, str(seconds)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, cwd=processes.ROOT
        )
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
    content = escaped.encode("latin-1", "backslashreplace")
    assert content.decode("unicode_escape") == text  # as Python reads it
    line = files.json_line({"text": text})
    assert (
        len(line.splitlines()) == 1 and files.parse_json(line)["text"] == text
    )


def test_a_new_folder_has_the_usual_permissions(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            # It holds for all threads, whose files would get other ones.
            patch.delattr(os, "umask")
            with files.new_folder(tmp_path / "new") as folder:
                folder.chmod(0o700)
                (folder / "inner").mkdir(mode=0o700)
                (folder / "file").touch(mode=0o600)
    finally:
        os.umask(before)
    paths = [tmp_path / "new" / name for name in ("", "inner", "file")]
    modes = [oct(path.stat().st_mode & 0o777) for path in paths]
    assert modes == ["0o750", "0o750", "0o640"]
