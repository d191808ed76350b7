"""Standardise raw text before it is split into words.

As in finetune-transformer-lm (text_utils.py), ftfy first repairs the encoding;
then dashes, ellipses and the spacing around punctuation are made uniform.
"""

import io
import re

import ftfy

# The released pattern was not a raw string: its alternative for backslashes
# means "a literal plus", so backslashes stay as they are. The language model
# was trained that way.
MARKS = '-~!";?+,)(/*[]}{|_'
PUNCTUATION = re.compile(
    f"({'|'.join(re.escape(mark) + '+' for mark in MARKS)})"
)
REPLACED = (
    ("\u2014", "-"),  # em dash
    ("\u2013", "-"),  # en dash
    ("\u2015", "-"),  # horizontal bar
    ("\u2026", "..."),  # ellipsis
    ("\u00b4", "'"),  # acute accent
)

# In a line of the characters below, ftfy changes only curly quotes and line
# ends, so only other lines go through ftfy.
_ASCII = r"\t\n\f\r -%'-~"  # printable but for "&", which may start an entity
_NOT_PLAIN = re.compile(f"[^{_ASCII}]")
_QUOTES = "\u2018\u2019\u201c\u201d"
_DASHES = "\u2013\u2014\u2015\u2026"
# Western European letters, if both neighbours are ASCII. Those that often start
# broken UTF-8 are left to ftfy.
_LETTERS = "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff"
_LEFT_TO_FTFY = "\u00c2\u00c3\u00d0"
_NEEDS_FTFY = re.compile(
    f"[^{_ASCII}{_QUOTES}{_DASHES}{_LETTERS}]|[{_LEFT_TO_FTFY}]"
    f"|[{_LETTERS}][^{_ASCII}]|[^{_ASCII}][{_LETTERS}]"
)
STRAIGHT = (("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"'), ("\u2018", "'"))


def repair(text):
    """Return `ftfy.fix_text(text)`, quickly if there is nothing to repair."""
    if _NOT_PLAIN.search(text):
        text = _repair_lines(text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _repair_lines(text):
    """Return ftfy's text, but unchanged lines keep their line ends."""
    repaired = []
    for line in io.StringIO(text, newline="\n"):
        straight = _replace(line, STRAIGHT)
        if not (_NOT_PLAIN.search(straight) and _NEEDS_FTFY.search(line)):
            repaired.append(straight)
        elif "<" in text:  # From there on, ftfy does not unescape HTML.
            return ftfy.fix_text(text)
        else:
            repaired.append(ftfy.fix_text(line))
    return "".join(repaired)


def _replace(text, pairs):
    for character, replacement in pairs:
        text = text.replace(character, replacement)
    return text


def standardize(text):
    """Return repaired `text` with uniform dashes and spaces.

    Every run of one of `- ~ ! " ; ? + , ) ( / * [ ] } { | _` gets a space on
    both sides; white space with a newline becomes `" \\n "`, other white space
    a single space, and the ends are stripped.
    """
    text = _replace(text, REPLACED)
    text = PUNCTUATION.sub(r" \1 ", text)
    text = re.sub(r"\s*\n\s*", " \n ", text)
    return re.sub(r"[^\S\n]+", " ", text).strip()
