"""Files out of a `.zip` or `.tar.gz` that one need not trust."""

import contextlib
import gzip
import lzma
import os
import pathlib
import stat
import tarfile
import tempfile
import zipfile
import zlib

from gpt1_keras import progress
from gpt1_keras.errors import InputError

_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,  # an encrypted zip
    NotImplementedError,  # a compression that Python does not know
    UnicodeError,
    ValueError,
)


def unpack(archive, directory, wanted, *, max_bytes=1 << 33):
    """Put the wanted files of an archive below `directory`.

    Everything is unpacked beside it first, so that a damaged archive leaves
    nothing behind. Only regular files are written, and only inside.

    Args:
        archive: path of a `.zip`, `.tar.gz` or other tar file.
        directory: pathlib.Path of a folder, made if need be.
        wanted: compiled regular expression; a member is taken if the whole
            of its name matches.
        max_bytes: int, more than this is refused.

    Returns:
        sorted list of the names of the files written.

    Raises:
        InputError: the archive is damaged, has nothing wanted, or a member
            that would land outside, is a link, or stands there twice.
    """
    archive, directory = pathlib.Path(archive), pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".unpack") as made:
        try:
            with _open(archive) as members:
                names = _extract(
                    archive, members, pathlib.Path(made), wanted, max_bytes
                )
        except _DAMAGE as error:
            if isinstance(error, InputError):
                raise
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"{archive} is damaged ({reason}): remove it and fetch it again"
            ) from None
        if not names:
            raise InputError(
                f"{archive} holds no file {wanted.pattern}: it is another one"
            )
        _move(pathlib.Path(made), directory)
    return sorted(names)


def _move(made, directory):
    """Move what was made into `directory`; a new folder as a whole."""
    for path in sorted(made.iterdir()):
        target = directory / path.name
        if path.is_dir() and target.is_dir():
            _move(path, target)
        else:
            os.replace(path, target)


class _Zip:
    """Members of a zip: (name, is a regular file, bytes, opener)."""

    def __init__(self, file):
        self._file = file

    def __iter__(self):
        for info in self._file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            is_regular = kind in (0, stat.S_IFREG)
            if not info.is_dir():
                yield info.filename, is_regular, info.file_size, info

    def open(self, info):
        try:
            return self._file.open(info)
        except OSError as error:  # It would begin before the file does.
            raise zipfile.BadZipFile(str(error)) from None


class _Tar:
    """Members of a tar file, likewise."""

    def __init__(self, file):
        self._file = file

    def __iter__(self):
        for info in self._file:
            if not info.isdir():
                yield info.name, info.isreg(), info.size, info
        # The sum of a compressed file is compared at its very end.
        while self._file.fileobj.read(1 << 20):
            pass

    def open(self, info):
        return self._file.extractfile(info)


@contextlib.contextmanager
def _open(archive):
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            yield _Zip(file)
    else:
        with tarfile.open(archive) as file:
            yield _Tar(file)


def _extract(archive, members, directory, wanted, max_bytes):
    """Write the wanted members below `directory`; return their names."""
    chosen = _choose(archive, members, wanted)
    total = sum(size for size, _ in chosen.values())
    if total > max_bytes:
        raise _refusal(archive, f"it has {total} bytes unpacked")
    with progress.bar(f"unpacking {archive.name}", total) as advance:
        for name, (size, info) in chosen.items():
            _write(archive, members.open(info), directory / name, size)
            advance(size)
    return list(chosen)


def _choose(archive, members, wanted):
    """Return {name: (bytes, member)} of the wanted ones; look at all."""
    chosen = {}
    for name, is_regular, size, info in members:
        path = pathlib.PurePosixPath(name)
        is_outside = path.is_absolute() or ".." in path.parts
        if is_outside or any(character in name for character in "\\\0:"):
            raise _refusal(archive, f"the name {name!r} leads outside")
        name = path.as_posix()
        if not wanted.fullmatch(name):
            continue
        if not is_regular:
            raise _refusal(archive, f"{name} is no file but a link")
        if name in chosen:
            raise _refusal(archive, f"{name} stands there twice")
        chosen[name] = size, info
    return chosen


def _refusal(archive, problem):
    return InputError(
        f"{archive}: {problem}: nothing is unpacked from such an archive"
    )


def _write(archive, source, path, size):
    """Write one member, no more than the bytes it says it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with source, open(path, "xb") as file:
        left = size
        while left and (block := source.read(min(left, 1 << 20))):
            file.write(block)
            left -= len(block)
        # The check sum of a zip is compared at its end.
        if left or source.read(1):
            raise InputError(
                f"{archive} is damaged: {path.name} is not as long as it says"
            )
