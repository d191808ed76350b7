"""Standardised text -> lower-case words, with spaCy's English rules.

The released pipeline splits with spaCy's English tokenizer and lowers each
word afterwards (spaCy's exceptions depend on case). A line break arrives from
spaCy as the token `"\n "`; it becomes the word `"\n"`.
"""

import functools
import re
import threading

# -----------------------------------------------------------------------------
# Standardised text -> lower-case words, with spaCy's English rules.

NEWLINE = "\n"
_lock = threading.Lock()


@functools.cache
def english():
    """Return spaCy's tokenizer for English."""
    import spacy  # seconds, and it imports torch where that is installed

    return spacy.blank("en").tokenizer


def split_words(text):
    """Return the words of standardised `text`, line breaks as `"\\n"`."""
    return [
        NEWLINE if token[0] == NEWLINE else token.lower()
        for token in split_tokens(text)
    ]


def split_tokens(text):
    """Return spaCy's tokens of `text` as they are.

    Nothing spaCy looks up in this call is kept, so its memory does not grow
    with the number of different words met.
    """
    tokenizer = english()
    with _lock, tokenizer.vocab.memory_zone():
        return [token.text for token in tokenizer(text)]


# -----------------------------------------------------------------------------
# What spaCy makes of one piece of text between two spaces.

# A word with at most one mark on each side: the bulk of any text, split here
# because spaCy takes 20 times as long.
_PLAIN = re.compile(r"('?)([A-Za-z]+)('s|'|:|(?<=[a-z])\.)?")


def split_pieces(pieces):
    """Split pieces of standardised text, none with white space in it.

    Args:
        pieces: iterable of different str.

    Returns: (dict from piece to its list of words in lower case, set of the
        pieces whose words may depend on their neighbours).
    """
    found = {piece: _split_plain(piece) for piece in pieces}
    others = [piece for piece, tokens in found.items() if tokens is None]
    dependent = set()
    # A line break keeps the last step of spaCy from looking across pieces.
    for piece, tokens in zip(others, _split_apart(others), strict=True):
        if tokens != _split_without_last_step(piece):
            dependent.add(piece)
        found[piece] = [token.lower() for token in tokens]
    return found, dependent


def _split_plain(piece):
    """Return the words of a plain piece, or None if spaCy must say."""
    if piece.isascii() and piece.isalpha():
        return None if piece in _special_cases() else [piece.lower()]
    match = _PLAIN.fullmatch(piece)
    if match is None:
        return None
    before, word, after = match.groups("")
    special = _special_cases()
    if special.isdisjoint((piece, word, before + word, word + after)):
        return [part.lower() for part in (before, word, after) if part]
    return None


def _split_apart(pieces):
    """Return the list of spaCy's tokens for each piece."""
    if not pieces:
        return []
    lines = [[]]
    for token in split_tokens(" \n ".join(pieces)):
        if token[0] == NEWLINE:
            lines.append([])
        else:
            lines[-1].append(token)
    return lines


@functools.cache
def _special_cases():
    return frozenset(english().rules)


@functools.cache
def _special_tokens(piece):
    rule = english().rules[piece]
    return [next(iter(token.values())) for token in rule]


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
    """Return the tokens of a string that no affix can be taken from."""
    if not rest:
        return []
    if rest in _special_cases():
        return _special_tokens(rest)
    tokenizer = english()
    if tokenizer.url_match and tokenizer.url_match(rest):
        return [rest]
    tokens = []
    start = 0
    for match in tokenizer.find_infix(rest):
        if match.start() == 0:
            continue
        tokens += [rest[start : match.start()], match.group()]
        start = match.end()
    return [token for token in [*tokens, rest[start:]] if token]
