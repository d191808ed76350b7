"""Book files: finding, checking and reading `.txt` files in pieces."""

import codecs
import dataclasses
import hashlib
import mmap
import os
import pathlib
import re

from absl import logging

from gpt1_keras import console
from gpt1_keras.data import paragraphs
from gpt1_keras.errors import InputError
from gpt1_keras.text import subwords

# Raise it when a change of code cleans files differently: caches depend on it.
CLEANING = 2
PIECE_BYTES = 16 << 20
_BLOCK_BYTES = 1 << 20
_HEAD_BYTES = 1 << 20  # where the line width is measured
_NOTICES_BYTES = 1 << 16  # A longer file is more than a licence.
_START, _END = (
    re.compile(marker.pattern.encode(), re.IGNORECASE | re.MULTILINE)
    for marker in (paragraphs.START, paragraphs.END)
)
# Where pieces may end, in order of preference.
_BORDERS = (rb"\n[ \t]*\r?\n", rb"\n", rb"[ \t]")


@dataclasses.dataclass(frozen=True)
class Book:
    """A book file as it was when it was checked."""

    name: str
    path: str
    stamp: tuple  # see `stamp`
    sha256: str


@dataclasses.dataclass(frozen=True)
class Piece:
    """Bytes `start` to `end` of a file, usually whole paragraphs."""

    path: str
    start: int
    end: int


def find_books(paths):
    """Return {name: path} of the books under `paths`, sorted by name.

    Folders, also linked ones, are searched recursively for `*.txt`, except for
    hidden files and those of a vocabulary. The name of a book is its path below
    the first of the folders that hold it.
    """
    found, seen = {}, set()
    for path in map(pathlib.Path, paths):
        named = {
            file.relative_to(path).as_posix(): file
            for file in _visible_files(path)
            if file.suffix.lower() == ".txt"
            and file.name not in subwords.NAMES
            and file.is_file()
        }
        if path.is_file():
            named = {path.name: path}
        if not named:
            raise InputError(
                f"{path} does not exist or holds no .txt file: pass .txt books"
            )
        for name, file in sorted(named.items()):
            if (place := file.resolve()) in seen:
                continue
            seen.add(place)
            # Bytes that are not UTF-8 become U+FFFD.
            name = os.fsencode(name).decode("utf-8", "replace")
            if name in found:
                raise InputError(
                    f"{file} and {found[name]} have the same name: rename one"
                )
            found[name] = file
    return dict(sorted(found.items()))


def _visible_files(folder):
    visited = set()  # Links can lead in circles.
    for root, folders, names in os.walk(folder, followlinks=True):
        if (place := os.path.realpath(root)) in visited:
            folders.clear()
            continue
        visited.add(place)
        folders[:] = [name for name in sorted(folders) if name[0] != "."]
        yield from (pathlib.Path(root, n) for n in names if n[0] != ".")


def stamp(path):
    """Return size and time of a file, which change when it is written."""
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


def check(path):
    """Read a book in small blocks; return its hex SHA-256.

    Warns about several books of Project Gutenberg in a file. Raises OSError or
    ValueError if the file is unreadable, binary, not UTF-8 or empty.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    digest = hashlib.sha256()
    has_text, num_books = False, 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            if b"\0" in block:
                raise ValueError("binary or UTF-16, not UTF-8")
            digest.update(block)
            num_books += len(_START.findall(block))
            text = decoder.decode(block)
            has_text = has_text or bool(text.strip("\ufeff \t\r\n\f"))
    decoder.decode(b"", final=True)
    if not has_text:
        raise ValueError("empty")
    if num_books > 1:
        logging.warning(
            f"{path}: of {num_books} books in this file, only the first is"
            " read: give each its own file"
        )
    return digest.hexdigest()


def check_all(files):
    """Return the `Book`s, and {"name", "reason"} of each file that is skipped.

    `files` is {name: path}. If none of them is a book, raises InputError.
    """
    found, skipped = [], []
    total = sum(os.path.getsize(path) for path in files.values())
    with console.bar("checking books", total) as advance:
        for name, path in files.items():
            before = stamp(path)
            try:
                sha256 = check(path)
                # Else it might be drawn as a held-out book.
                if before[0] < _NOTICES_BYTES and not any(
                    read_piece(cut(path)[0])
                ):
                    raise ValueError("no text in it")
                found.append(Book(name, str(path), before, sha256))
            except (OSError, ValueError) as error:
                reason = str(error)
                if isinstance(error, UnicodeDecodeError):
                    reason = f"not UTF-8 ({error.reason})"
                logging.warning("skipped %s: %s", path, reason)
                skipped.append({"name": name, "reason": reason})
            advance(before[0])
    if not found:
        reasons = "; ".join(f"{s['name']}: {s['reason']}" for s in skipped[:3])
        raise InputError(f"none of {len(files)} files is a book ({reasons})")
    return found, skipped


def cut(path, piece_bytes=PIECE_BYTES):
    """Cut a book into a list of `Piece` of about `piece_bytes`.

    A piece ends at the first blank line in the megabyte after `piece_bytes`;
    without one, at the first line end, or else space. The last piece ends where
    Project Gutenberg's licence begins.
    """
    size = pathlib.Path(path).stat().st_size
    starts = [0]
    with open(path, "rb") as file:
        if size > piece_bytes:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
                if end := _END.search(content):
                    size = end.start()
        while starts[-1] + piece_bytes < size:
            file.seek(starts[-1] + piece_bytes)
            window = file.read(_BLOCK_BYTES)
            is_end = len(window) < _BLOCK_BYTES
            if is_end and not re.search(_BORDERS[0], window):
                break  # the rest of the last paragraph
            matches = (re.search(border, window) for border in _BORDERS)
            match = next(filter(None, matches), None)
            if match is None:
                raise InputError(
                    f"{path} has no space in a megabyte of text: remove it"
                )
            starts.append(starts[-1] + piece_bytes + match.end())
    if starts[-1] >= size > 0:
        starts.pop()
    ends = starts[1:] + [size]
    return [Piece(str(path), start, end) for start, end in zip(starts, ends)]


def read_piece(piece):
    """Yield the clean paragraphs of a piece (`paragraphs.paragraphs`)."""
    with open(piece.path, "rb") as file:
        head = file.read(_HEAD_BYTES).decode("utf-8", errors="ignore")
        file.seek(piece.start)
        text = file.read(piece.end - piece.start).decode("utf-8")
    width = paragraphs.measure_width(paragraphs.split_lines(head))
    lines = paragraphs.split_lines(text)
    return paragraphs.paragraphs(lines, width, is_start=piece.start == 0)
