"""What stands in a book's file but is not its text."""

import re

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
_SENTENCE_END = tuple(".!?:;,\"'\u201d\u2019)]-\u2014_*")


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
        and text.endswith(_SENTENCE_END)
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
