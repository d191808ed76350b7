"""Turn the text of a book file into clean paragraphs.

Hard-wrapped lines are joined; title pages, contents lists, illustrations,
licences and footnote marks are dropped. All lines of a text with one paragraph
per line are kept. A block is the list of lines between two blank lines.
"""

import itertools
import re

# Hard-wrapped lines.
_SENTENCE_END = tuple(".!?:;\"'\u201d\u2019)]*-\u2014_")
_FIRST_LETTER = re.compile(r"[\W_]*([^\W_])")
_ITALICS = re.compile(r"(?<!_)_(?!_)")
_FOOTNOTE_MARK = re.compile(r"[\[{](?:\d{1,3}|\*{1,3})[\]}]")
_LONGEST_WRAP = 100
_SLACK = 8

# Front matter.
START = re.compile(r"^\*\*\*\s*START OF TH(E|IS) PROJECT GUTENBERG", re.I)
END = re.compile(r"^\*\*\*\s*END OF TH(E|IS) PROJECT GUTENBERG", re.I)
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


def split_lines(text):
    """Return the lines of a text, without byte-order mark and line ends."""
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def paragraphs(lines, width, *, is_start):
    """Yield the clean paragraphs of `lines`.

    `width` is the `measure_width` of the beginning of the book; `is_start`
    says whether the lines may include front matter.
    """
    if is_start:
        lines = _between_markers(lines)
    if width is None:
        yield from filter(None, map(str.strip, lines))
        return
    parts = itertools.groupby(lines, lambda line: bool(line.strip()))
    blocks = (list(block) for is_text, block in parts if is_text)
    blocks = (block for block in blocks if not _is_noise(block))
    if is_start:
        blocks = _without_front_matter(blocks)
    for block in blocks:
        yield from unwrap(block, width)


def measure_width(lines):
    """Return the column at which `lines` were hard-wrapped, or None.

    A hard-wrapped text breaks lines where the next word would not fit, often in
    mid-sentence. Measures the first 20,000 lines.
    """
    lines = [line.rstrip() for line in lines[:20_000]]
    lengths = sorted(len(line) for line in lines if line)
    if not lengths or lengths[int(0.99 * len(lengths))] > _LONGEST_WRAP:
        return None
    width = lengths[int(0.9 * len(lengths))]
    pairs = full = ended = 0
    for line, following in zip(lines, lines[1:]):
        if line and following:
            pairs += 1
            full += _reach(line, following) > width - _SLACK
            ended += line.endswith((".", "!", "?", "\u201d", '"'))
    if pairs < 2 or full < 0.5 * pairs or ended > 0.5 * pairs:
        return None
    return width


def unwrap(block, width):
    """Return the paragraphs of a block, without italics and footnote marks.

    Prose becomes one paragraph. Verse, addresses and tables, whose lines end
    early and begin with capitals, keep their lines. In books without blank
    lines, a short line that ends a sentence also ends its paragraph. `width` is
    that of `measure_width`.
    """
    block = [line.rstrip() for line in block]
    pairs = list(zip(block, block[1:]))
    reach = [_reach(line, following) for line, following in pairs]
    if _is_verse(block, reach, width):
        return list(filter(None, map(_tidy, block)))
    joined = [[block[0]]]
    for (line, following), length in zip(pairs, reach):
        is_end = length <= 0.8 * width and line.endswith(_SENTENCE_END)
        is_hyphen = line.endswith("-") and not line.endswith(" -")
        if is_end and _starts_like_verse(following):
            joined.append([following])
        elif is_hyphen and following.lstrip()[:1].isalpha():
            # No space after a hyphen or dash at the end of a line.
            joined[-1].append(following.lstrip())
        else:
            joined[-1] += ["\n", following]
    return list(filter(None, map(_tidy, map("".join, joined))))


def _starts_like_verse(line):
    """Return whether the first letter is a capital or has no lower case."""
    found = _FIRST_LETTER.match(line)
    return found is not None and not found[1].islower()


def _reach(line, following):
    """Return the length of a line with the next line's first word."""
    return len(line) + 1 + len(following.split(None, 1)[0])


def _is_verse(block, reach, width):
    full = sum(length > width - _SLACK for length in reach)
    if full >= 0.5 * len(reach):
        return False
    capitals = sum(map(_starts_like_verse, block[1:]))
    return capitals >= 0.7 * len(reach)


def _tidy(text):
    if "_" in text:
        text = _ITALICS.sub("", text)
    if "]" in text or "}" in text:
        text = _FOOTNOTE_MARK.sub("", text)
    return " ".join(text.split())


def _between_markers(lines):
    """Return the lines between Project Gutenberg's START and END, if any.

    Without a START in the first 500 lines, the text starts at the first line.
    """
    head = enumerate(lines[:500], 1)
    start = next((number for number, line in head if START.match(line)), 0)
    return itertools.takewhile(lambda x: not END.match(x), lines[start:])


def _is_noise(block):
    """Return whether a block is a rule or the mark of an illustration."""
    if _BRACKETED.match(block[0].lstrip()):
        return block[-1].rstrip().endswith("]")
    return all(map(_RULE.fullmatch, block))


def _without_front_matter(blocks):
    """Yield the blocks of an iterator without title page and lists.

    Drops everything before the first paragraph of prose, and contents lists
    after it. If the first 400 blocks have no prose (verse, a play), keeps all.
    """
    head = list(itertools.islice(blocks, 400))
    texts = [" ".join(map(str.strip, block)) for block in head]
    prose = list(map(_is_prose, head, texts))
    has_prose = any(prose)
    first = prose.index(True) if has_prose else 0
    while first and _is_sentence(head[first - 1], texts[first - 1]):
        first -= 1
    in_list = False
    for block, is_prose in zip(head[first:], prose[first:]):
        in_list = not is_prose and (in_list or _is_list(block))
        if not (in_list and has_prose):
            yield block
    yield from blocks


def _is_list(block):
    return bool(_LIST.fullmatch(block[0].strip(" \t._=:[]")))


def _is_prose(block, text):
    return (
        len(text) >= 100
        and text.endswith((*_SENTENCE_END, ","))
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
