"""Verified downloads that resume, and safe extraction of archives."""

import errno
import http.client
import os
import pathlib
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile

from gpt1_keras import console
from gpt1_keras import files
from gpt1_keras.errors import InputError

_BLOCK_BYTES = 1 << 18
_TIMEOUT_SECONDS = 60
_ATTEMPTS = 5  # in a row without a new byte
_RETRIED = (408, 425, 429, 500, 502, 503, 504)


def fetch(url, path, *, sha256=None, size=None, wait=time.sleep):
    """Download the file at `url`; `path` appears only when it is complete.

    A broken download, of this process or an earlier one, resumes if the
    SHA-256 of the whole file is known; otherwise it starts again.

    Args:
        url: str, http or https.
        path: pathlib.Path.
        sha256: str or None, of the whole file.
        size: int or None, bytes of the whole file.
        wait: function of seconds, called before another attempt.

    Returns:
        str, the SHA-256 of the file.

    Raises:
        InputError: the server has no such file, its checksum differs, or the
            connection keeps failing.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is not an http or https address: give one")
    part = path.with_name(f".{path.name}.part")
    # Twice, because the halves of a resumed file may not belong together.
    for _ in range(2):
        _download(
            url, part, can_resume=sha256 is not None, size=size, wait=wait
        )
        found = files.sha256(part)
        if sha256 in (None, found):
            files.sync(part)
            os.replace(part, path)
            return found
        part.unlink()
    raise InputError(
        f"{url}: checksum mismatch: its sha256 is {found}, expected {sha256}; "
        "try again later or give a --mirror"
    )


def _download(url, part, *, can_resume, size, wait):
    """Send requests until the partial file is complete."""
    failures, most = 0, _size(part)
    while True:
        done = _size(part) if can_resume else 0
        if done and done == size:
            return
        try:
            _request(url, part, done, size)
            return
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"status {error.code}"
            if error.code == 416:  # the part is longer than the file
                part.unlink(missing_ok=True)
            elif error.code not in _RETRIED:
                raise InputError(
                    f"{url}: the server answers {error.code} ({error.reason}): "
                    "give a --mirror, or download it yourself and give "
                    "--from FOLDER"
                ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
        failures = 0 if _size(part) > most else failures + 1
        most = max(most, _size(part))
        if failures >= _ATTEMPTS:
            raise InputError(
                f"{url} cannot be read ({reason}): try again later; the same "
                "command resumes"
            )
        wait(min(30.0, 2.0**failures))


def _request(url, part, done, size):
    """Send one request for the bytes from `done` on and write what arrives."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "gpt1_keras"}
    if done:
        headers["Range"] = f"bytes={done}-"
    try:
        request = urllib.request.Request(url, headers=headers)
    except ValueError as error:
        raise InputError(f"{url}: {error}: give another --mirror") from None
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
        if response.status == 206:
            place = response.headers.get("Content-Range", "")
            if not place.startswith(f"bytes {done}-"):
                raise OSError("the server sent a part that was not asked for")
        else:
            done = 0
        length = response.headers.get("Content-Length")
        total = size if length is None else done + int(length)
        if size is not None and total != size:
            raise InputError(
                f"{url} has {total} bytes, expected {size}: another version; "
                "give a --mirror"
            )
        done += _write(response, part, done, total)
    if total is not None and done < total:
        raise OSError(f"the connection ended after {done} bytes")


def _write(response, part, done, total):
    """Append the body of a response; return the number of bytes."""
    try:
        file = open(part, "ab" if done else "wb")
    except OSError as error:
        raise _unwritable(part, error) from None
    written = 0
    name = part.name.removeprefix(".").removesuffix(".part")
    with file, console.bar(name, total or 0, done=done) as advance:
        while block := response.read1(_BLOCK_BYTES):
            try:
                file.write(block)
                file.flush()
            except OSError as error:
                raise _unwritable(part, error) from None
            written += len(block)
            advance(len(block))
    return written


def _unwritable(path, error):
    return InputError(
        f"{path} cannot be written ({error.strerror}): make room or give "
        "another --data"
    )


def _size(path):
    return path.stat().st_size if path.exists() else 0


def unpack(archive, directory, is_wanted):
    """Extract the wanted files of a zip or tar archive into `directory`.

    They go to a temporary folder first, so a damaged archive leaves nothing
    behind. No file is written outside `directory`, and no link.

    Args:
        archive: path.
        directory: pathlib.Path of a folder, created if needed.
        is_wanted: function of the name of a member.

    Raises:
        InputError: the archive is damaged, has no wanted file, or would write
            one outside.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".unpack") as made:
        try:
            count = _extract(archive, made, is_wanted)
        # What these libraries raise for damaged archives is not documented.
        except Exception as error:
            # A damaged zip may begin before its file does.
            is_damage = getattr(error, "errno", None) in (None, errno.EINVAL)
            if not is_damage:
                raise
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"{archive} is damaged ({reason}): remove it and fetch it again"
            ) from None
        if not count:
            raise InputError(
                f"{archive} has none of the expected files: it is another "
                "version"
            )
        _move(pathlib.Path(made), directory)


def _extract(archive, folder, is_wanted):
    """Extract the wanted regular files; return their number."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            names = [n for n in file.namelist() if is_wanted(n)]
            _check_inside(names)
            file.extractall(folder, names)  # links become plain files
    else:
        with tarfile.open(archive) as file:
            names = [m for m in file if m.isreg() and is_wanted(m.name)]
            _check_inside(member.name for member in names)
            # Python has this filter since 3.11.4.
            has_filter = hasattr(tarfile, "data_filter")
            options = {"filter": "data"} if has_filter else {}
            file.extractall(folder, names, **options)
            # The checksum of a compressed tar is compared at its very end.
            while file.fileobj.read(1 << 20):
                pass
    return len(names)


def _check_inside(names):
    for name in names:
        path = pathlib.PurePosixPath(name)
        if path.is_absolute() or {"..", "\\"} & {*path.parts, *name}:
            raise ValueError(f"{name!r} leads outside")


def _move(made, directory):
    """Move everything into `directory`; new folders as a whole."""
    for path in sorted(made.iterdir()):
        target = directory / path.name
        if path.is_dir() and target.is_dir():
            _move(path, target)
        else:
            os.replace(path, target)
