import hashlib
import os
import subprocess
import sys

import pytest

from gpt1_keras import files


@pytest.mark.parametrize("content", ["grün\n", b"\x00\xff", ""])
def test_write_atomic_writes_text_and_bytes(tmp_path, content):
    files.write_atomic(tmp_path / "a", content)
    expected = content if isinstance(content, bytes) else content.encode()
    assert (tmp_path / "a").read_bytes() == expected
    assert os.listdir(tmp_path) == ["a"]


def test_write_atomic_replaces(tmp_path):
    files.write_atomic(tmp_path / "a", "long old content")
    files.write_atomic(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_write_that_dies_leaves_the_old_file(tmp_path):
    """A process killed while it writes leaves the name as it was."""
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


def test_sha256_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc" * 100_000)
    expected = hashlib.sha256(b"abc" * 100_000).hexdigest()
    assert files.sha256(tmp_path / "a") == expected


def test_sync_needs_something_there(tmp_path):
    files.sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        files.sync(tmp_path / "missing")
