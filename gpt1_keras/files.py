"""Files that are either whole or absent, and their hashes."""

import hashlib
import os
import pathlib


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
