"""Standardised text to lower-case words, by spaCy's English rules, and back.

The released pipeline splits with spaCy's English tokenizer and lower-cases
each word afterwards, because spaCy's exceptions depend on case. spaCy returns
a line break as the token `"\n "`; here it becomes the word `"\n"`.
"""

import functools
import re
import threading

NEWLINE = "\n"
_lock = threading.Lock()
# A word with at most one mark on each side, like most words: split here because
# spaCy takes 20 times as long.
_PLAIN = re.compile(r"('?)([A-Za-z]+)('s|'|:|(?<=[a-z])\.)?")


@functools.cache
def english():
    import spacy  # takes seconds, and imports torch if it is installed

    return spacy.blank("en").tokenizer


@functools.cache
def _special_cases():
    return frozenset(english().rules)


def _split_tokens(text):
    """Return spaCy's tokens of `text` as a list of str.

    They are removed from spaCy's vocabulary, which bounds its memory.
    """
    tokenizer = english()
    with _lock, tokenizer.vocab.memory_zone():
        return [token.text for token in tokenizer(text)]


def split_words(text):
    """Return the words of standardised `text`, line breaks as `"\\n"`."""
    return [
        NEWLINE if token[0] == NEWLINE else token.lower()
        for token in _split_tokens(text)
    ]


def split_pieces(pieces):
    """Split distinct pieces of standardised text without white space.

    Returns:
        (dict from piece to its list of lower-case words, set of the pieces
        whose words may depend on their neighbours).
    """
    found = {piece: _split_plain(piece) for piece in pieces}
    others = [piece for piece, tokens in found.items() if tokens is None]
    # spaCy's last step rejoins tokens, but never across a line break.
    lines = [[]] if others else []
    for token in _split_tokens(" \n ".join(others)):
        if token[0] == NEWLINE:
            lines.append([])
        else:
            lines[-1].append(token)
    dependent = set()
    for piece, tokens in zip(others, lines, strict=True):
        if tokens != _split_without_last_step(piece):
            dependent.add(piece)
        found[piece] = [token.lower() for token in tokens]
    return found, dependent


def _split_plain(piece):
    """Return the words of a plain piece; None if spaCy must decide."""
    special = _special_cases()
    if piece.isascii() and piece.isalpha():
        return None if piece in special else [piece.lower()]
    match = _PLAIN.fullmatch(piece)
    if match is None:
        return None
    before, word, after = match.groups("")
    if special.isdisjoint((piece, word, before + word, word + after)):
        return [part.lower() for part in (before, word, after) if part]
    return None


def _split_without_last_step(piece):
    """Return the tokens of a piece before special cases are rejoined.

    Follows spaCy's `Tokenizer._split_affixes` and `_attach_tokens`.
    """
    special = _special_cases()
    tokenizer = english()
    before, after = [], []
    rest = piece
    size = None
    while rest and len(rest) != size and rest not in special:
        size = len(rest)
        start = tokenizer.find_prefix(rest)
        if start and rest[start:] in special:
            before.append(rest[:start])
            rest = rest[start:]
            break
        end = tokenizer.find_suffix(rest[start:])
        if end and rest[:-end] in special:
            after.append(rest[-end:])
            rest = rest[:-end]
            break
        if start + end > size:
            end = 0
        if start:
            before.append(rest[:start])
        if end:
            after.append(rest[-end:])
        rest = rest[start : size - end]
    return before + _split_middle(rest) + after[::-1]


def _split_middle(rest):
    tokenizer = english()
    if rest in _special_cases():
        return [next(iter(token.values())) for token in tokenizer.rules[rest]]
    if tokenizer.url_match(rest):
        return [rest]
    tokens = []
    start = 0
    for match in tokenizer.find_infix(rest):
        if match.start() == 0:
            continue
        tokens += [rest[start : match.start()], match.group()]
        start = match.end()
    return [token for token in [*tokens, rest[start:]] if token]


# Words back to text.

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

    Within a line, quotes open and close alternately; an unpaired apostrophe
    attaches to the word before it. Dashes have no spaces around them.
    """
    lines = [[]]
    for token in tokens:
        if token == NEWLINE:
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
