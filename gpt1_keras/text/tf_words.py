"""spaCy's rules for splitting a piece of text, as a TensorFlow graph.

The regular expressions are spaCy's own. TensorFlow's engine (RE2) has no
look-around, so the context of a match is matched as well and put back.
"""

import re

import tensorflow as tf

from gpt1_keras.text import words as words_lib

_LONGEST = 256  # characters; longer pieces are split into parts
_BREAK = " "  # between two words of a piece
_TIE = "\x03"  # between the words of a rejoined special case, for the moment
_MAX_REJOINED = 5  # words of a special case to rejoin
_ROUNDS = 64  # maximum number of affixes on each side


class WordRules(tf.Module):
    """The rules of `words.split_pieces` as a graph.

    As in spaCy, affixes are removed one by one, until a special case remains or
    there is no further affix; then the middle is split.

    Call: string `[M]`, standardised, without white space, to ragged string
    `[M, (words)]` in lower case.
    """

    def __init__(self):
        from spacy.lang.en import English  # takes seconds
        from spacy.symbols import ORTH

        super().__init__()
        tokenizer = words_lib.english()
        special = {
            piece: _BREAK.join(part[ORTH] for part in rule)
            for piece, rule in tokenizer.rules.items()
            if not any(character.isspace() for character in piece)
        }
        self._special = table(special)
        rejoined = _rejoined_cases(special)
        self._counts = tuple(rejoined)
        self._rejoin = [table(cases) for cases in rejoined.values()]
        self._prefix = _prefix(English.Defaults.prefixes)
        self._suffixes = _suffixes(English.Defaults.suffixes)
        self._infixes = _infixes(English.Defaults.infixes)
        self._address = _address(tokenizer.url_match.__self__.pattern)

    def __call__(self, pieces):
        pieces = tf.strings.regex_replace(
            pieces, f"(.{{{_LONGEST}}})", rf"\1{_BREAK}"
        )
        # [M] -> [M, (parts)] -> [M, (parts), (words)] -> [M, (words)]
        parts = tf.strings.split(pieces)
        words = tf.strings.split(self._split(parts.values))
        words = parts.with_values(words).merge_dims(1, 2)
        return tf.strings.lower(words, "utf-8")

    def _split(self, parts):
        """Insert `_BREAK` between the words: `[M]` to `[M]`."""
        nothing = tf.zeros_like(parts)
        before, rest, after, _ = tf.while_loop(
            lambda before, rest, after, place: tf.size(place) > 0,
            self._take,
            (nothing, parts, nothing, tf.range(tf.size(parts))),
            shape_invariants=(tf.TensorShape([None]),) * 4,
            maximum_iterations=_ROUNDS,
        )
        words = tf.strings.join([before, self._middle(rest), after])
        return self._rejoined(words)

    def _rejoined(self, words):
        """Rejoin special cases that were split ("Mr", "." to "Mr.").

        This is spaCy's last step. The longest of overlapping cases wins.
        """
        parts = tf.strings.split(words)
        place = tf.where(parts.row_lengths() > 1)  # [m, 1]
        parts = tf.gather(parts, place[:, 0])
        flat, rows = parts.values, parts.value_rowids()
        for count, cases in zip(self._counts, self._rejoin, strict=True):
            # [S]: special case of each word with the `count - 1` after it
            following = [shift_left(flat, i, "") for i in range(count)]
            special = cases.lookup(tf.strings.join(following, _BREAK))
            same_row = shift_left(rows, count - 1, -1) == rows
            is_first = same_row & (special != "")
            for i in range(1, count):  # the first of overlapping cases
                is_first &= ~_shift_right(is_first, i)
            flat = tf.where(is_first, special, flat)
            is_kept = tf.ones_like(is_first)
            for i in range(1, count):
                is_kept &= ~_shift_right(is_first, i)
            flat, rows = (tf.boolean_mask(x, is_kept) for x in (flat, rows))
        parts = tf.RaggedTensor.from_value_rowids(
            flat, rows, nrows=parts.nrows(), validate=False
        )
        joined = tf.strings.reduce_join(parts, axis=-1, separator=_BREAK)
        joined = tf.strings.regex_replace(joined, _TIE, _BREAK)
        return tf.tensor_scatter_nd_update(words, place, joined)

    def _take(self, before, rest, after, place):
        """Remove one affix, or one on each side, of each unfinished piece.

        `before`, `rest`, `after` `[M]` are the words so far of all pieces,
        `place` `[m]` the indices of the unfinished ones.
        """
        whole = tf.gather(rest, place)
        start, end = self._affixes(whole)
        # In bytes, as all lengths and positions here.
        first, size = tf.strings.length(start), tf.strings.length(whole)
        last = size - tf.strings.length(end)
        left = tf.strings.substr(whole, first, last - first)
        start = tf.where(start == "", "", tf.strings.join([start, _BREAK]))
        end = tf.where(end == "", "", tf.strings.join([_BREAK, end]))
        first_words = tf.strings.join([tf.gather(before, place), start])
        last_words = tf.strings.join([end, tf.gather(after, place)])
        pairs = (before, first_words), (rest, left), (after, last_words)
        state = [
            tf.tensor_scatter_nd_update(old, place[:, None], new)
            for old, new in pairs
        ]
        is_unfinished = (left != whole) & (left != "")
        return *state, tf.boolean_mask(place, is_unfinished)

    def _affixes(self, rest):
        """Return the prefix and the suffix to remove, "" if there is none.

        A special case keeps its affixes. So if removing one affix leaves a
        special case, the other is kept.
        """
        start = tf.strings.regex_replace(rest, self._prefix, r"\1\2")
        first, size = tf.strings.length(start), tf.strings.length(rest)
        tail = tf.strings.substr(rest, first, size - first)
        end = self._suffix(tail)
        # spaCy looks up the text before the suffix, prefix included.
        head = tf.strings.substr(
            rest, tf.zeros_like(size), size - tf.strings.length(end)
        )
        is_special, is_tail_special, is_head_special = (
            self._special.lookup(text) != "" for text in (rest, tail, head)
        )
        keeps_start = is_special | (is_head_special & ~is_tail_special)
        start = tf.where(keeps_start, "", start)
        end = tf.where(is_special | is_tail_special, "", end)
        return start, end

    def _suffix(self, rest):
        longest = tf.zeros_like(rest)
        for pattern in self._suffixes:
            found = tf.strings.regex_replace(rest, pattern, r"\1")
            is_longer = tf.strings.length(found) > tf.strings.length(longest)
            longest = tf.where(is_longer, found, longest)
        return longest

    def _middle(self, rest):
        special = self._special.lookup(rest)
        split = rest
        for pattern in self._infixes:
            split = tf.strings.regex_replace(
                split, pattern, rf"\1{_BREAK}\2{_BREAK}\3"
            )
        is_address = tf.strings.regex_full_match(rest, self._address)
        split = tf.where(is_address, rest, split)
        return tf.where(special != "", special, split)


def table(entries, default="", *, key_dtype=None):
    """Return a dict as a `StaticHashTable`."""
    keys, values = list(entries), list(entries.values())
    content = tf.lookup.KeyValueTensorInitializer(keys, values, key_dtype)
    return tf.lookup.StaticHashTable(content, default)


def _rejoined_cases(special):
    """Return the special cases that spaCy rejoins from their words.

    The result is {number of words, largest first: cases}, where cases are
    {split words, joined by `_BREAK`: spaCy's words, joined by `_TIE`}.
    """
    without = words_lib.english_but(rules={})
    cases = {n: {} for n in range(_MAX_REJOINED, 1, -1)}
    for piece, words in special.items():
        parts = [token.text for token in without(piece)]
        if len(parts) in cases:
            key = _BREAK.join(parts)
            cases[len(parts)][key] = words.replace(_BREAK, _TIE)
    return {n: texts for n, texts in cases.items() if texts}


# Look-behind, match, sign of the look-ahead ("!" if negative), look-ahead.
_PARTS = re.compile(
    r"(?:\(\?<=((?:\\.|\[(?:\\.|[^\]])*\]|[^()])*)\))?(.*?)(?:\(\?([=!])(.*)\))?",
    re.DOTALL,
)


def _prefix(expressions):
    """Return one expression whose groups 1 and 2 are the prefix of a text."""
    parts = _parse(expressions)
    plain = [match for _, match, _, after in parts if not after]
    ((_, careful, _, after),) = (part for part in parts if part[2] == "!")
    not_after = f"[^{after.removeprefix('[')}"
    return f"^(?:({'|'.join(plain)}).*|({careful})(?:{not_after}.*)?|.*)$"


def _suffixes(expressions):
    """Return expressions whose group 1 is the suffix of a text, or empty."""
    by_condition = {}
    for before, match, _, _ in _parse(expressions):
        by_condition.setdefault(before, []).append(match)
    return [
        f"^(?:.*?{before}({'|'.join(matches)})|.*)$"
        for before, matches in by_condition.items()
    ]


def _infixes(expressions):
    """Return expressions with the context of an infix in groups 1 and 3."""
    found = []
    for before, match, _, after in _parse(expressions):
        # Twice, because a match can share its context with the previous one.
        found += [f"({before})({match})({after})"] * (2 if before else 1)
    return found


def _address(pattern):
    """Return the expression of URLs, in a form that RE2 accepts.

    Unlike in spaCy, private networks and overlong names count as URLs.
    """
    pattern = re.sub(r"\(\?!(?:[^()]|\([^()]*\))*\)", "", pattern)
    return _for_re2(pattern.replace("{0,62}", "*").replace("{2,63}", "{2,}"))


def _parse(expressions):
    """Return the `_PARTS` of each expression in RE2's syntax."""
    found = []
    for expression in filter(str.strip, expressions):
        parts = _PARTS.fullmatch(expression).groups("")
        if any(re.search(r"\(\?(?!:)", part) for part in parts):
            raise ValueError(f"RE2 has no equivalent of {expression}")
        found.append(list(map(_for_re2, parts)))
    return found


def _for_re2(expression):
    expression = re.sub(
        r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))",
        lambda m: rf"\x{{{(m[1] or m[2])}}}",
        expression,
    )
    return expression.replace(r"\'", "'").replace("(?u)", "")


def _shift_right(mask, count):  # tf.roll takes longer
    ends = tf.zeros([count], tf.bool)
    return tf.concat([ends, mask], axis=0)[: tf.size(mask)]


def shift_left(values, count, end):
    """Move values `[S]` left by `count`; the last ones become `end`."""
    ends = tf.fill([count], tf.constant(end, values.dtype))
    return tf.concat([values[count:], ends], axis=0)[: tf.size(values)]
