"""Words to readable text: undo the spacing that tokenisation introduced."""

import re

from gpt1_keras.text import words

_ATTACH_LEFT = frozenset(
    [".", ",", "!", "?", ":", ";", "...", "%", ")", "]", "}"]
)
_ATTACH_RIGHT = frozenset(["(", "[", "{", "$", "\u00a3", "\u20ac", "#"])
_ATTACH_BOTH = frozenset(["/"])
_QUOTES = frozenset(['"', "'", "_"])
_SENTENCE_ENDS = frozenset([".", "!", "?", "..."])
_ENDING = re.compile(r"'(s|m|re|ve|d|ll)$|n't$|[!?.,;:]+$|-+$")
_HYPHENS = re.compile(r"-+$")
# Words that spaCy splits in two, unambiguous when adjacent.
_SPLIT_IN_TWO = frozenset([("gon", "na"), ("got", "ta"), ("can", "not")])


def join_words(tokens):
    """Return the text of a list of lower-case words.

        ["he", "said", ",", '"', "i", "ca", "n't", "!", '"', "\\n", "so"]
        'he said, "i can\\'t!"\\nso'

    Quotes open and close in turn within a line; an apostrophe without a
    partner attaches to the word before it. Dashes have no spaces around them.
    """
    lines = [[]]
    for token in tokens:
        if token == words.NEWLINE:
            lines.append([])
        else:
            lines[-1].append(token)
    return "\n".join(map(_join_line, lines))


def _join_line(tokens):
    text = []
    open_quotes = set()
    glue = True
    previous = ""
    for index, token in enumerate(tokens):
        attach, glue_next = _sides(tokens, index, open_quotes)
        if not (glue or attach or (previous, token) in _SPLIT_IN_TWO):
            text.append(" ")
        text.append(token)
        glue = glue_next
        previous = token
    return "".join(text)


def _sides(tokens, index, open_quotes):
    """Return whether a word attaches to the previous and to the next one."""
    token = tokens[index]
    if token in _QUOTES:
        return _quote_sides(tokens, index, open_quotes)
    if token in _ATTACH_RIGHT:
        return False, True
    if token in _ATTACH_BOTH or _HYPHENS.fullmatch(token):
        return True, True
    if token in _ATTACH_LEFT or _ENDING.fullmatch(token):
        return True, token == "," and _inside_number(tokens, index)
    return False, False


def _quote_sides(tokens, index, open_quotes):
    token = tokens[index]
    if token in open_quotes:
        open_quotes.discard(token)
        return True, False
    closes = _closes_earlier_speech(tokens, index)
    if closes or token == "'" and token not in tokens[index + 1 :]:
        return index > 0, index == 0
    open_quotes.add(token)
    return False, True


def _closes_earlier_speech(tokens, index):
    """Return whether a quote mark without an opening one ends a speech."""
    token = tokens[index]
    if index == 0 or token in tokens[:index] or tokens.count(token) % 2 == 0:
        return False
    return index == len(tokens) - 1 or tokens[index - 1] in _SENTENCE_ENDS


def _inside_number(tokens, index):
    """Return whether a comma separates thousands, as in 3 , 000."""
    before = tokens[index - 1] if index else ""
    after = tokens[index + 1] if index + 1 < len(tokens) else ""
    return before[-1:].isdigit() and after.isdigit() and len(after) == 3
