"""Files out of a `.zip` or `.tar.gz` that one need not trust."""

import contextlib
import gzip
import http.client
import json
import lzma
import os
import pathlib
import re
import stat
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib

from gpt1_keras import console
from gpt1_keras import files
from gpt1_keras.errors import InputError

# -----------------------------------------------------------------------------
# One file from the network: resumed, retried, checked by its sha256.

_BLOCK_BYTES = 1 << 18
_TIMEOUT_SECONDS = 60
_ATTEMPTS = 5  # in a row that bring not one byte
_RETRIED = (408, 425, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class _Interrupted(Exception):
    """The connection broke; what has arrived is kept."""


def fetch(url, path, *, sha256=None, size=None, wait=time.sleep):
    """Bring the file at `url` to `path`; it appears when all is right.

    What a broken connection leaves, in this process or an earlier one, lies
    beside `path` and is continued, if the server can and its file is the same.

    Args:
        url: str, of http or https.
        path: pathlib.Path.
        sha256: str or None, of the whole file.
        size: int or None, bytes of the whole file.
        wait: function of seconds, called before another attempt.

    Returns:
        str, the file's sha256.

    Raises:
        InputError: there is no such file, it is another one, or the
            connection fails again and again.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"{url} is no http or https address: give one")
    part = _Part(path)
    # A second time, as the halves of a resumed file may not belong together.
    for _ in range(2):
        _complete(
            url,
            part,
            size=size,
            wait=wait,
            name=path.name,
            is_checked=sha256 is not None,
        )
        found = files.sha256(part.path)
        if sha256 in (None, found):
            part.finish()
            return found
        part.restart()
    raise InputError(
        f"{url}: its sha256 is {found}, expected {sha256}: a damaged or "
        "another file; try again later or give a --mirror"
    )


class _Part:
    """The beginning of a file, and how its server calls this version."""

    def __init__(self, path):
        self._final = path
        self.path = path.with_name(f".{path.name}.part")
        self._notes = path.with_name(f".{path.name}.part.json")

    @property
    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0

    def validator(self):
        """Return the ETag or date of the version begun, or None."""
        try:
            return json.loads(self._notes.read_text("utf-8"))["validator"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def restart(self, validator=None):
        """Drop what is there."""
        self.path.unlink(missing_ok=True)
        self._notes.unlink(missing_ok=True)
        if validator:
            files.write_atomic(
                self._notes, json.dumps({"validator": validator})
            )

    def finish(self):
        """Give the whole file its name."""
        files.sync(self.path)
        os.replace(self.path, self._final)
        self._notes.unlink(missing_ok=True)


def _complete(url, part, *, size, wait, name, is_checked):
    """Read until the part is whole, through any number of broken ends."""
    failures, most = 0, part.size
    with contextlib.ExitStack() as stack:
        bar = _Bar(stack, name, size)
        while True:
            try:
                _read_on(url, part, size=size, bar=bar, is_checked=is_checked)
                return
            except _Interrupted as error:
                # A server that always breaks and never resumes must not
                # keep us for ever.
                failures = 0 if part.size > most else failures + 1
                most = max(most, part.size)
                if failures >= _ATTEMPTS:
                    raise InputError(
                        f"{url} cannot be read ({error}): try again later, "
                        "the same command goes on where this one stopped"
                    ) from None
                wait(min(30.0, 2.0**failures))


class _Bar:
    """A progress bar that begins when the size is known."""

    def __init__(self, stack, name, size):
        self._stack = stack
        self._name = name
        self._size = size
        self._advance = None
        self._done = 0

    def show(self, done, total):
        if self._advance is None:
            total = total or self._size or 0
            self._advance = self._stack.enter_context(
                console.bar(self._name, total, done=done)
            )
        elif done != self._done:
            self._advance(done - self._done)
        self._done = done


def _read_on(url, part, *, size, bar, is_checked):
    """Make one request for what is missing and append what arrives."""
    offset, validator = part.size, part.validator()
    if size is not None and offset == size:
        return
    can_resume = validator is not None or is_checked
    if offset and (not can_resume or offset > (size or offset)):
        part.restart()
        offset = 0
    headers = {"Accept-Encoding": "identity", "User-Agent": "gpt1_keras"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if validator is not None:
            headers["If-Range"] = validator
    try:
        request = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(
            request, timeout=_TIMEOUT_SECONDS
        ) as response:
            start, total = _place(response, offset)
            if size is not None and total not in (None, size):
                raise InputError(
                    f"{url} has {total} bytes, expected {size}: another file; "
                    "give a --mirror"
                )
            if start == 0:
                part.restart(_validator(response))
            _append(response, part.path, start, total, bar)
    except urllib.error.HTTPError as error:
        with error:
            _explain(url, part, error)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, InputError):
            raise
        if getattr(error, "filename", None):  # of ours, not of the server
            raise _unwritable(error.filename, error) from None
        raise _Interrupted(_reason(error)) from None


def _unwritable(path, error):
    return InputError(
        f"{path} cannot be written ({error.strerror or error}): make room or "
        "give another --data"
    )


def _place(response, offset):
    """Return (first byte, bytes of the whole file or None) of a response."""
    if response.status == 206:
        found = _RANGE.match(response.headers.get("Content-Range", ""))
        if not found or int(found[1]) != offset:
            raise _Interrupted("the server sent another part than asked for")
        return offset, int(found[3])
    length = response.headers.get("Content-Length")
    return 0, int(length) if length else None


def _validator(response):
    tag = response.headers.get("ETag", "")
    # A weak tag allows other bytes.
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified")


def _append(response, path, start, total, bar):
    done = start
    bar.show(done, total)
    with open(path, "ab") as file:
        while True:
            try:
                block = response.read1(_BLOCK_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise _Interrupted(_reason(error)) from None
            if not block:
                break
            try:
                file.write(block)
                file.flush()
            except OSError as error:
                raise _unwritable(path, error) from None
            done += len(block)
            bar.show(done, total)
    if total is not None and done < total:
        raise _Interrupted(f"the connection ended after {done} bytes")


def _explain(url, part, error):
    if error.code == 416:
        # There is nothing behind what we have: it is another file.
        part.restart()
        raise _Interrupted("the file has become shorter") from None
    if error.code in _RETRIED:
        raise _Interrupted(f"status {error.code}") from None
    raise InputError(
        f"{url}: the server answers {error.code} ({error.reason}): give a "
        "--mirror, or bring the file yourself and give --from FOLDER"
    ) from None


def _reason(error):
    reason = getattr(error, "reason", None) or error
    return str(reason) or type(error).__name__


# -----------------------------------------------------------------------------
# Files out of a `.zip` or `.tar.gz` that one need not trust.

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
    with console.bar(f"unpacking {archive.name}", total) as advance:
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
