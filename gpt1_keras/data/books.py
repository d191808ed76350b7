"""Books on disk: finding, checking and reading `.txt` files as clean text."""

import codecs
import dataclasses
import hashlib
import pathlib
import re

from gpt1_keras.errors import InputError

# -----------------------------------------------------------------------------
# Hard-wrapped lines back into paragraphs, one per line.

_SENTENCE_END = tuple(".!?:;\"'\u201d\u2019)]*-\u2014_")
_STARTS_LIKE_VERSE = re.compile(r"[\W_]*[A-Z\u00c0-\u00de0-9]")
_ITALICS = re.compile(r"(?<!_)_(?!_)")
_FOOTNOTE_MARK = re.compile(r"[\[{](?:\d{1,3}|\*{1,3})[\]}]")
_LINES_MEASURED = 20_000
_LONGEST_WRAP = 100
_SLACK = 8


def measure_width(lines):
    """Return the column at which `lines` were hard-wrapped, or None.

    A wrapped text breaks a line because the next word would not have fitted
    and hence in mid-sentence; a text with one paragraph per line does neither.

    Args:
        lines: list of str; the first 20,000 are looked at.

    Returns:
        int, the length of a full line; None if each line is a paragraph.
    """
    lines = [line.rstrip() for line in lines[:_LINES_MEASURED]]
    lengths = sorted(len(line) for line in lines if line)
    if not lengths or lengths[int(0.99 * len(lengths))] > _LONGEST_WRAP:
        return None
    width = lengths[int(0.9 * len(lengths))]
    pairs = full = ended = 0
    for line, following in zip(lines, lines[1:]):
        if line and following:
            pairs += 1
            reach = len(line) + 1 + len(following.split(None, 1)[0])
            full += reach > width - _SLACK
            ended += line.endswith((".", "!", "?", "\u201d", '"'))
    if pairs < 2 or full < 0.5 * pairs or ended > 0.5 * pairs:
        return None
    return width


def unwrap(block, width):
    """Turn a block of lines into paragraphs.

    Prose becomes one paragraph. Verse, addresses and tables, whose lines stop
    early and begin with capitals, keep their lines. Within prose a short line
    that ends a sentence ends a paragraph too (books without blank lines).

    Args:
        block: list of str, lines between two blank lines.
        width: int, from `measure_width`.

    Returns:
        list of str without line breaks or marks of italics.
    """
    if len(block) == 1:
        text = _tidy(block[0])
        return [text] if text else []
    block = [line.rstrip() for line in block]
    # The length each line would have had with the next line's first word.
    reach = [
        len(line) + 1 + len(following.split(None, 1)[0])
        for line, following in zip(block, block[1:])
    ]
    if _is_verse(block, reach, width):
        return [text for text in map(_tidy, block) if text]
    joined = [block[0]]
    for line, following, length in zip(block, block[1:], reach):
        if length <= 0.8 * width and _ends_paragraph(line, following):
            joined.append(following)
        elif line.endswith("-") and _is_cut_word(line, following):
            # A word cut at its own hyphen needs no space, nor does a dash.
            joined[-1] += following.lstrip()
        else:
            joined[-1] += "\n" + following
    return [text for text in map(_tidy, joined) if text]


def _is_verse(block, reach, width):
    full = sum(length > width - _SLACK for length in reach)
    if full >= 0.5 * len(reach):
        return False
    capitals = sum(bool(_STARTS_LIKE_VERSE.match(line)) for line in block[1:])
    return capitals >= 0.7 * len(reach)


def _ends_paragraph(line, following):
    return line.endswith(_SENTENCE_END) and bool(
        _STARTS_LIKE_VERSE.match(following)
    )


def _is_cut_word(line, following):
    return not line.endswith(" -") and following.lstrip()[:1].isalpha()


def _tidy(text):
    if "_" in text:
        text = _ITALICS.sub("", text)
    if "]" in text or "}" in text:
        text = _FOOTNOTE_MARK.sub("", text)
    return " ".join(text.split())


# -----------------------------------------------------------------------------
# What stands in a book's file but is not its text.

_START = re.compile(r"\*\*\*\s*START OF TH(E|IS) PROJECT GUTENBERG", re.I)
_END = re.compile(r"\*\*\*\s*END OF TH(E|IS) PROJECT GUTENBERG", re.I)
_RULE = re.compile(r"[\s*\-=_~.\u2022#+]+")
_BRACKETED = re.compile(r"\[\s*_?(illustration|footnote|transcriber)", re.I)
_NOTICE = re.compile(
    r"copyright|all rights reserved|printed (in|by|at)|entered[, ]+according"
    r"|published by|publishers|project gutenberg|e-?text|transcriber"
    r"|distributed proofread|produced by|typograph|italics|underscore"
    r"|small capitals|frontispiece|\bvols?\.|\b[148]2?mo\b|[$\u00a3]\s?\d"
)
_LIST = re.compile(
    r"(table of )?contents|(list of )?illustrations|index to .*", re.I
)
_ENTRY = re.compile(
    r"(chapter|book|part|volume|letter|canto)\b.{0,12}?[.:\s]"
    r"|[IVXLC]{1,7}\s*[.:\u2014-]|\d{1,3}[.)\s]",
    re.I,
)
_PAGE = re.compile(
    r"[\s.]{3,}(\d{1,4}|[ivxlc]{1,6}|page|frontispiece_?)$", re.I
)
_BLOCKS_OF_FRONT = 400
_SENTENCE_END_FRONT_MATTER = tuple(".!?:;,\"'\u201d\u2019)]-\u2014_*")


def between_markers(lines):
    """Yield the lines between Project Gutenberg's START and END, if any.

    Args:
        lines: iterable of str. Without a START in the first 500 lines the
            text begins at once.
    """
    lines = iter(lines)
    head = []
    for line in lines:
        head.append(line)
        if _START.match(line):
            head = []
            break
        if len(head) == 500:
            break
    for source in (head, lines):
        for line in source:
            if line.startswith("***") and _END.match(line):
                return
            yield line


def is_noise(block):
    """Whether a block (list of lines) is a rule or an illustration mark."""
    first = block[0].lstrip()
    if first[:1] == "[":
        is_closed = block[-1].rstrip().endswith("]")
        return is_closed and bool(_BRACKETED.match(first))
    return not first[0].isalpha() and all(map(_RULE.fullmatch, block))


def without_front(blocks, text_of):
    """Yield the blocks of a book's text: no title page, no lists.

    What precedes the first paragraph of prose goes, and so does every
    contents list after it. If no prose is found among the first 400 blocks,
    all of them are text (a book of verse, a play).

    Args:
        blocks: iterable of lists of lines.
        text_of: function from a block to one str.
    """
    blocks = iter(blocks)
    head = []
    for block in blocks:
        head.append(block)
        if len(head) == _BLOCKS_OF_FRONT:
            break
    prose = [_is_prose(block, text_of(block)) for block in head]
    if not any(prose):
        yield from head
        yield from blocks
        return
    first = prose.index(True)
    while first and _is_sentence(head[first - 1], text_of(head[first - 1])):
        first -= 1
    in_list = False
    for block, is_prose in zip(head[first:], prose[first:]):
        in_list = not is_prose and (in_list or _is_list(block))
        if not in_list:
            yield block
    yield from blocks


def _is_list(block):
    return bool(_LIST.fullmatch(block[0].strip(" \t._=:[]")))


def _is_prose(block, text):
    return (
        len(text) >= 100
        and text.endswith(_SENTENCE_END_FRONT_MATTER)
        and _share_lower(text) >= 0.85
        and not _is_apparatus(block, text)
        and ". " in text + " "
    )


def _is_sentence(block, text):
    return (
        text.endswith((".", "!", "?", '"', "\u201d", "\u2019", "'"))
        and _share_lower(text) >= 0.6
        and not _is_apparatus(block, text)
        and (" " in text or text[0] in '"\u201c\u2018')
        and not re.match(r"(by|to|from|translated)\b", text, re.I)
        and not block[0].startswith("   ")
    )


def _is_apparatus(block, text):
    first = block[0].strip()
    return bool(
        _NOTICE.search(text.lower())
        or _is_list(block)
        or _ENTRY.match(first)
        or first.isupper()
        or any(_PAGE.search(line.rstrip()) for line in block)
    )


def _share_lower(text):
    letters = sum(map(str.isalpha, text))
    return sum(map(str.islower, text)) / max(letters, 1)


# -----------------------------------------------------------------------------
# Books on disk: finding, checking and reading `.txt` files as clean text.

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
    width = measure_width(lines)
    return "\n".join(paragraphs(lines, width, is_start=True))


def paragraphs(lines, width, *, is_start):
    """Yield clean paragraphs from lines.

    Args:
        lines: iterable of str without line breaks.
        width: int or None, from `books.measure_width` on the book's head.
        is_start: bool, whether front matter may stand here.
    """
    if is_start:
        lines = between_markers(lines)
    if width is None:
        for line in lines:
            if text := line.strip():
                yield text
        return
    blocks = (block for block in _blocks(lines) if not is_noise(block))
    if is_start:
        blocks = without_front(
            blocks, lambda block: " ".join(map(str.strip, block))
        )
    for block in blocks:
        yield from unwrap(block, width)


def head_width(path):
    """Return `books.measure_width` of the first megabyte of a book."""
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
    lines = _split_lines(head.decode("utf-8", errors="ignore"))
    return measure_width(lines)


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
