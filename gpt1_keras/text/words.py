"""Standardised text to lower-case words, by spaCy's English rules, and back.

The released pipeline splits with spaCy's English tokenizer and lower-cases
each word afterwards, because spaCy's exceptions depend on case. spaCy returns
a line break as the token `"\n "`; here it becomes the word `"\n"`.
"""

import functools
import itertools
import re
import threading

NEWLINE = "\n"
_lock = threading.Lock()
# A word with at most one mark on each side, as most are. It is split here,
# because spaCy takes 20 times as long.
_PLAIN = re.compile(r"('?)([A-Za-z]+)('s|'|:|(?<=[a-z])\.)?")

# spaCy removes marks from a word one by one and copies the rest each time: its
# time grows with the square of a run's length. So long runs, such as those of
# emoji, are split before. Runs of other marks are one word or special cases.
_LONG_RUN = re.compile(
    r"""[!"#$%&()*+,:;<=>?\[\]_`{}\xa9\xae\xb0\u2600-\u266e\u2701-\u2767"""
    r"\U0001f300-\U0001f3fa\U0001f400-\U0001f6d4]{256}"
)


@functools.cache
def english():
    import spacy  # takes seconds, and imports torch if it is installed

    return spacy.blank("en").tokenizer


def english_but(**changes):
    """Return a copy of spaCy's tokenizer with other rules or functions."""
    from spacy.tokenizer import Tokenizer

    names = ("rules", "prefix_search", "suffix_search", "infix_finditer")
    parts = {name: getattr(english(), name) for name in (*names, "url_match")}
    return Tokenizer(english().vocab, **parts | changes)


@functools.cache
def _without_last_step():
    """Return spaCy's tokenizer without its last step.

    That step rejoins special cases in which spaCy found an affix or infix when
    they were added. Here it finds none while they are added.
    """

    def once_complete(function, nothing):
        return lambda text: function(text) if is_complete else nothing

    is_complete = False
    whole = english()
    with _lock:  # no thread may be in a memory zone of the vocabulary
        found = english_but(
            prefix_search=once_complete(whole.prefix_search, None),
            suffix_search=once_complete(whole.suffix_search, None),
            infix_finditer=once_complete(whole.infix_finditer, ()),
        )
    is_complete = True
    return found


def _split_tokens(text, tokenizer):
    """Return spaCy's tokens of `text` as a list of str."""
    # A memory zone makes spaCy forget the words, which bounds its memory.
    with _lock, tokenizer.vocab.memory_zone():
        return [token.text for token in tokenizer(text)]


def _split_lines(lines, tokenizer):
    """Return the tokens of each line, split at once; no token spans two."""
    tokens = _split_tokens(" \n ".join(lines), tokenizer)
    parts = itertools.groupby(tokens, lambda token: token[0] == NEWLINE)
    return [list(part) for is_break, part in parts if not is_break]


def split_words(text):
    """Return the words of standardised `text`, line breaks as `"\\n"`."""
    return [
        NEWLINE if token[0] == NEWLINE else token.lower()
        for token in _split_tokens(text, english())
    ]


def split_pieces(pieces):
    """Split distinct pieces of standardised text without white space.

    Returns:
        (dict from piece to its list of lower-case words, set of the pieces
        whose words may depend on their neighbours).
    """
    found = {piece: _split_plain(piece) for piece in pieces}
    for piece in [piece for piece in pieces if len(piece) > 256]:
        parts = _LONG_RUN.sub(r" \g<0> ", piece).split()
        if len(parts) > 1:
            split, _ = split_pieces(set(parts))
            found[piece] = [word for part in parts for word in split[part]]
    others = [piece for piece, tokens in found.items() if not tokens]
    split = _split_lines(others, english())
    before = _split_lines(others, _without_last_step())
    dependent = set()
    for piece, tokens, tokens_before in zip(others, split, before, strict=True):
        if tokens != tokens_before:
            dependent.add(piece)
        found[piece] = [token.lower() for token in tokens]
    return found, dependent


def _split_plain(piece):
    """Return the words of a plain piece; None if it needs spaCy."""
    special = english().rules.keys()
    if piece.isascii() and piece.isalpha():
        return None if piece in special else [piece.lower()]
    match = _PLAIN.fullmatch(piece)
    if match is None:
        return None
    before, word, after = match.groups("")
    if special.isdisjoint((piece, word, before + word, word + after)):
        return [part.lower() for part in (before, word, after) if part]
    return None


# Words back to text.

_ATTACH_LEFT = re.compile(r"[!?.,;:]+|[%)\]}]|'(s|m|re|ve|d|ll)|n't|-+|/")
_ATTACH_RIGHT = re.compile(r"[(\[{$#\u00a3\u20ac]|-+|/")
_QUOTES = frozenset("\"'_")
_SENTENCE_ENDS = frozenset([".", "!", "?", "..."])
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
    text = ""
    open_quotes = set()
    glue = True
    for index, token in enumerate(tokens):
        if token in _QUOTES:
            left, right = _quote_sides(tokens, index, open_quotes)
        else:
            left = _ATTACH_LEFT.fullmatch(token)
            right = _ATTACH_RIGHT.fullmatch(token)
        if token == ",":  # It attaches to both in numbers such as 3 , 000.
            around = " ".join(tokens[max(index - 1, 0) : index + 2])
            right = re.search(r"\d , \d{3}$", around)
        is_half = (tokens[index - 1], token) in _SPLIT_IN_TWO
        text += token if glue or left or is_half else f" {token}"
        glue = right
    return text


def _quote_sides(tokens, index, open_quotes):
    """Return whether a quote attaches to the word before and the one after."""
    token, before, after = tokens[index], tokens[:index], tokens[index + 1 :]
    if token in open_quotes:
        open_quotes.discard(token)
        return True, False
    # A quote without an opening one ends the speech of an earlier line.
    is_odd = token not in before and after.count(token) % 2 == 0
    ends = before and (not after or before[-1] in _SENTENCE_ENDS)
    if (is_odd and ends) or (token == "'" and token not in after):
        return index > 0, index == 0
    open_quotes.add(token)
    return False, True
