"""One file from the network: resumed, retried, checked by its sha256."""

import contextlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request

from gpt1_keras import files
from gpt1_keras import progress
from gpt1_keras.errors import InputError

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
                progress.bar(self._name, total, done=done)
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
