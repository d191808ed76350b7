"""Books on disk: finding, checking and reading `.txt` files as clean text."""

import codecs
import dataclasses
import hashlib
import pathlib
import re

from gpt1_keras.data import front_matter
from gpt1_keras.data import unwrap
from gpt1_keras.errors import InputError

_BLOCK_BYTES = 1 << 20
_HEAD_BYTES = 1 << 20
_BORDERS = (rb"\n[ \t]*\r?\n", rb"\n", rb"[ \t]")


class BrokenBook(Exception):
    """A file that is no book; the message is the reason, in a few words."""


@dataclasses.dataclass(frozen=True)
class Piece:
    """Bytes `start` to `end` of a file, cut at a paragraph's border."""

    path: str
    start: int
    end: int


def find_books(paths):
    """Find the books under `paths`.

    Args:
        paths: list of files and folders; folders are searched with all their
            subfolders for `*.txt`.

    Returns:
        dict from name (path below the folder, or file name) to path, sorted
        by name.

    Raises:
        InputError: a path is missing, a folder holds no `.txt` file, or two
            books have the same name.
    """
    found = {}
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            files = [
                file
                for file in path.rglob("*")
                if file.suffix.lower() == ".txt"
                and not file.name.startswith(".")
                and file.is_file()
            ]
            if not files:
                raise InputError(f"{path} holds no .txt file")
            named = {file.relative_to(path).as_posix(): file for file in files}
        elif path.is_file():
            named = {path.name: path}
        else:
            raise InputError(f"{path} does not exist: give .txt books")
        for name, file in named.items():
            if name in found and not found[name].samefile(file):
                raise InputError(
                    f"{file} and {found[name]} have the same name: rename one"
                )
            found[name] = file
    return dict(sorted(found.items()))


def check(path):
    """Return (bytes, hex sha256) of a book, read once in small blocks.

    Raises:
        BrokenBook: the file is binary, not UTF-8, empty or unreadable.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    digest = hashlib.sha256()
    size, has_text = 0, False
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                if size == 0 and block.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise BrokenBook("not UTF-8 but UTF-16")
                if b"\0" in block:
                    raise BrokenBook("binary")
                digest.update(block)
                size += len(block)
                text = decoder.decode(block)
                has_text = has_text or not text.strip("\ufeff \t\r\n\f") == ""
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise BrokenBook(f"not UTF-8 ({error.reason})") from error
    except OSError as error:
        raise BrokenBook(f"cannot be read ({error.strerror})") from error
    if not has_text:
        raise BrokenBook("empty")
    return size, digest.hexdigest()


def read_book(path):
    """Return the text of the book at `path` as it stands.

    Raises:
        BrokenBook: the file is binary, not UTF-8, empty or unreadable.
    """
    check(path)
    text = pathlib.Path(path).read_bytes().decode("utf-8")
    return text.removeprefix("\ufeff")


def clean(text):
    """Return the paragraphs of a book, one per line, without front matter.

    A text whose lines are paragraphs already keeps them all.

    Args:
        text: str, a whole book.

    Returns:
        str, paragraphs joined by line breaks.
    """
    lines = _split_lines(text)
    width = unwrap.measure_width(lines)
    return "\n".join(paragraphs(lines, width, is_start=True))


def paragraphs(lines, width, *, is_start):
    """Yield clean paragraphs from lines.

    Args:
        lines: iterable of str without line breaks.
        width: int or None, from `unwrap.measure_width` on the book's head.
        is_start: bool, whether front matter may stand here.
    """
    if is_start:
        lines = front_matter.between_markers(lines)
    if width is None:
        for line in lines:
            if text := line.strip():
                yield text
        return
    blocks = (
        block for block in _blocks(lines) if not front_matter.is_noise(block)
    )
    if is_start:
        blocks = front_matter.without_front(
            blocks, lambda block: " ".join(map(str.strip, block))
        )
    for block in blocks:
        yield from unwrap.unwrap(block, width)


def head_width(path):
    """Return `unwrap.measure_width` of the first megabyte of a book."""
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    lines = _split_lines(head.decode("utf-8", errors="ignore"))
    return unwrap.measure_width(lines)


def cut(path, piece_bytes):
    """Cut a book into pieces of about `piece_bytes`, at paragraph borders.

    A border is a blank line, or a line's end, or at worst a space, within a
    megabyte after the piece's size is reached.

    Returns:
        list of Piece, in order.
    """
    size = pathlib.Path(path).stat().st_size
    starts = [0]
    with open(path, "rb") as file:
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


def read_piece(piece, width):
    """Yield the clean paragraphs of a piece (see `paragraphs`)."""
    with open(piece.path, "rb") as file:
        file.seek(piece.start)
        text = file.read(piece.end - piece.start).decode("utf-8")
    return paragraphs(_split_lines(text), width, is_start=piece.start == 0)


def _split_lines(text):
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _blocks(lines):
    block = []
    for line in lines:
        if line and not line.isspace():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block
