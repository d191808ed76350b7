"""Hard-wrapped lines back into paragraphs, one per line."""

import re

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
