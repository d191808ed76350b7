"""Paths from users, JSON, atomic writes, checksums, and locks of folders."""

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import uuid

from absl import logging

from gpt1_keras import errors

CHECKSUMS = "checksums.json"
_SPECIAL = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}


def cache_root():
    """Return the cache folder, for what is prepared on first use."""
    root = os.environ.get("GPT1_KERAS_CACHE") or "~/.cache/gpt1_keras"
    return user_path("GPT1_KERAS_CACHE", root)


def user_path(label, value):
    """Return a user's path with `~` expanded; `label` names it in messages."""
    if not str(value).strip():
        raise errors.InputError(f"{label} is empty: give a path")
    try:
        str(value).encode("utf-8")  # Otherwise no config.gin could hold it.
        path = pathlib.Path(value).expanduser()
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # A run may be about to create it.
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise errors.InputError(
            f"{label} {errors.shortened(str(value))} cannot be used as a path:"
            f" {getattr(error, 'strerror', None) or error}; give another"
        ) from None
    return path


def read_text(label, path, remedy="give a file of UTF-8 text"):
    """Return the text of a UTF-8 file; `label` names it in messages."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", error)
        if isinstance(error, PermissionError):
            remedy = "make it readable"
        problem = f"{label}: {path} cannot be read ({reason})"
        raise errors.InputError(f"{problem}: {remedy}") from None


def write_changed(path, text):
    """Write a text to `path` unless the file has it already."""
    if not path.exists() or path.read_bytes() != text.encode("utf-8"):
        write_atomic(path, text)


def write_atomic(path, content):
    """Write `content` (str or bytes) to `path`, which never holds a part of it.

    A temporary file is flushed to the disk and renamed. Folders are created.
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        content = content.encode("utf-8")
    # Not the process id, which two machines can share.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with named(path), open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # also Ctrl-C
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


@contextlib.contextmanager
def named(path):
    """Add a file's name to an OSError that has none, as on a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # Else it has a library's own text.
            error.filename = error.filename or str(path)
        raise


def escape_line(text):
    """Return a text as one line, special characters escaped as in Python."""
    return _SPECIAL.sub(_escaped, text)


def json_line(value):
    """Return `value` as a line of readable JSON, with its line break."""
    text = json.dumps(value, ensure_ascii=False)
    # JSON allows some characters that other programs take for line breaks.
    return re.sub("[\x7f-\x9f\u2028\u2029]", _escaped, text) + "\n"


def json_text(value, **options):
    """Return `value` as JSON; numbers that are not finite become null."""
    plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(plain, **options) + "\n"


def _escaped(found):
    return _ESCAPES.get(found[0], f"\\u{ord(found[0]):04x}")


def sync(path):
    """Flush a file or, after a rename, the entries of a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path):
    """Return the hex SHA-256 of the file at `path`, read in blocks."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_json(value):
    """Return the hex SHA-256 of a value that `json.dumps` takes."""
    text = json.dumps(value, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def parse_json(text, kind=dict, **options):
    """Return the value of JSON `text`, str or bytes.

    Raises ValueError with one short line if it is not JSON or not a `kind`.
    `options` are those of `json.loads`; `FINITE` refuses NaN and infinity.
    """
    try:
        value = json.loads(text, **options)
    except (ValueError, RecursionError) as error:
        # Without the advice to programmers and the position in characters.
        reason = re.split(r";| \(char", str(error))[0]
        raise ValueError(f"invalid JSON ({reason})") from None
    if not isinstance(value, kind):
        raise ValueError(f"not a JSON {'object' if kind is dict else 'list'}")
    return value


def _finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


FINITE = {"parse_constant": _finite, "parse_float": _finite}


def check_kinds(found, kinds):
    """Raise ValueError unless a dict has {name: type}, and no int below 0."""
    for name, kind in kinds.items():
        value = found.get(name) if isinstance(found, dict) else None
        is_right = type(value) is kind
        if not is_right or (kind is int and not 0 <= value < 2**53):
            raise ValueError(f"{name!r} is {errors.shortened(repr(value))}")


def seal(directory, **facts):
    """Flush a folder to the disk; write `checksums.json`, including `facts`."""
    directory = pathlib.Path(directory)
    (directory / CHECKSUMS).unlink(missing_ok=True)
    sums = {}
    for path in sorted(directory.rglob("*")):
        sync(path)
        if path.is_file():
            sums[path.relative_to(directory).as_posix()] = sha256(path)
    text = json_text(facts | {"files": sums}, indent=1)
    write_atomic(directory / CHECKSUMS, text)


def seal_of(directory):
    """Return the text of a folder's `checksums.json`, None if it has none."""
    path = pathlib.Path(directory) / CHECKSUMS
    return path.read_text(encoding="utf-8") if path.exists() else None


def check_seal(directory):
    """Return a folder's `checksums.json`, {} without one; refuse a mismatch."""
    path = pathlib.Path(directory) / CHECKSUMS
    if not path.exists():
        return {}
    try:
        facts = parse_json(path.read_bytes())
        sums = dict(facts["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise errors.InputError(f"{path.name} is damaged") from None
    for name, expected in sums.items():
        try:
            found = sha256(path.parent / name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise errors.InputError(f"{name}: {reason}") from None
        if found != expected:
            raise errors.InputError(f"{name}: checksum mismatch")
    return facts


@contextlib.contextmanager
def new_folder(directory):
    """Replace `directory` by a new folder, which appears only when complete.

    Yields a temporary folder `.NAME.tmp` beside it. An exception removes that.
    """
    directory = pathlib.Path(os.path.realpath(directory))
    temporary = directory.with_name(f".{directory.name}.tmp")
    old = directory.with_name(f".{directory.name}.old")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    usual = temporary.stat().st_mode & 0o777
    try:
        with named(directory):
            yield temporary
        # Some libraries write files that only their owner may read.
        for path in (temporary, *temporary.rglob("*")):
            path.chmod(usual if path.is_dir() else usual & 0o666)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    temporary.rename(directory)
    sync(directory.parent)
    shutil.rmtree(old, ignore_errors=True)


def make_folder(path):
    """Create the folder `path` if needed and return it as pathlib.Path."""
    path = pathlib.Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it is read-only")
    except OSError as error:
        remedy = "choose another"
        if path.is_relative_to(cache_root()):
            remedy = "name another cache in GPT1_KERAS_CACHE"
        problem = (
            f"{path}: cannot create or write this folder ({error.strerror})"
        )
        raise errors.InputError(f"{problem}; {remedy}") from None
    return path


@contextlib.contextmanager
def exclusive(directory, *, name=".workdir.lock", wait=False):
    """Lock an existing folder against other processes of this program.

    The kernel releases the lock, on its file `name`, when the process ends,
    however it ends. Without `wait`, raises InputError if another one holds it.
    """
    # Not the folder itself, which NFS would lock for this machine only.
    with open(os.path.join(directory, name), "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise errors.InputError(
                    f"{directory}: another process is using it: wait for it "
                    "or choose another folder"
                ) from None
            logging.info("waiting for another process that uses %s", directory)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            logging.warning(
                "%s: this file system has no locks; start no other run there",
                directory,
            )
        yield
