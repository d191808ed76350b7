"""Files that are either whole or absent, and their hashes."""

import contextlib
import fcntl
import hashlib
import os
import pathlib

from absl import logging

from gpt1_keras.errors import InputError

# -----------------------------------------------------------------------------
# Files that are either whole or absent, and their hashes.


def write_atomic(path, content):
    """Write `content` (str or bytes) to `path` so that no reader sees half.

    The bytes go to a temporary file beside it, reach the disk, and take the
    name in one step.
    """
    path = pathlib.Path(path)
    if isinstance(content, str):
        content = content.encode("utf-8")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync(path.parent)


def sync(path):
    """Bring a file, or the names in a folder, to the disk.

    After a rename inside a folder this makes it survive a power cut.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path):
    """Return the hex sha256 of the file at `path`, read in blocks."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -----------------------------------------------------------------------------
# One process at a time works in a folder.

_NAME = ".lock"


@contextlib.contextmanager
def exclusive(directory, *, wait):
    """Hold the folder's lock; the kernel frees it even after a kill.

    Args:
        directory: pathlib.Path of an existing folder.
        wait: bool, whether to wait for another process or to give up.

    Raises:
        InputError: another process holds the lock and `wait` is False.
    """
    with open(directory / _NAME, "a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            if not wait:
                raise InputError(
                    f"{directory} is being prepared by process {owner}: "
                    "wait for it or choose another folder"
                ) from error
            logging.info("waiting: process %s prepares %s", owner, directory)
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
