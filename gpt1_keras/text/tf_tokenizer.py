"""The tokenizer as a TensorFlow graph: strings in, token ids out.

The graph has only core operations (WordPiece adds one of tensorflow-text), so
any TensorFlow can run it. A piece is a stretch of standardised text without
spaces. Pieces in a table get exactly the ids of the Python pipeline; all others
go through the rules of `tf_words` and the merges. Remaining differences are
listed in tools/serve.md.
"""

import collections
import functools
import itertools
import unicodedata

import ftfy
import tensorflow as tf
import tensorflow_text
from ftfy import chardata
from ftfy import fixes

from gpt1_keras.text import standardize
from gpt1_keras.text import subwords
from gpt1_keras.text import tf_words

NEWLINE = "\x01"  # a line break, between spaces in standardised text
_NO_PAIR = -1  # the key for the last symbol of a word, which starts no pair
_NEVER = 2**31 - 1  # the rank of a pair that is never merged
_flat = itertools.chain.from_iterable

_MARK = "\x04"  # encloses a match to look up; ftfy removes it from texts
# The beginning of a text up to the first line with "<".
_BEFORE_HTML = r"(?s)^((?:[^<]*\n)?)[^<\n]*<.*$"
_NAME = "&[0-9A-Za-z]{1,24};"
_NUMBER = "&#[xX]?[0-9A-Fa-f]{1,23};"
_LARGEST_NUMBER = 0x2200
# White space in Python but not in RE2, without line breaks.
_SPACE = (
    "[\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{202f}\\x{205f}\\x{3000}\\x{c}]"
)
# Pattern and replacement, in this order: ftfy's repairs, then standardisation.
_REPLACED = (
    ("\x1b\\[[0-9;]*[a-zA-Z]", ""),  # terminal colours
    ("\r\n|\r|\u2028|\u2029", "\n"),
    (
        "[\\x{0}-\\x{8}\\x{b}\\x{e}-\\x{1f}\\x{7f}\\x{206a}-\\x{206f}\\x{feff}"
        "\\x{fff9}-\\x{fffc}]",
        "",
    ),
    ("[\u02bc\u2018-\u201b]", "'"),
    ("[\u201c-\u201f]", '"'),
    ("[\u2013\u2014\u2015]", "-"),
    ("\u2026", "..."),
    ("\u00b4", "'"),
    (standardize.PUNCTUATION.pattern, r" \1 "),
    (_SPACE, " "),
)


class Standardize(tf.Module):
    """`standardize.repair` and `standardize.standardize` as a graph.

    Call: string `[N]`, any bytes (invalid UTF-8 becomes U+FFFD), to string
    `[N]`: pieces and `NEWLINE`, separated by spaces.
    """

    def __init__(self):
        super().__init__()
        composed, others = _unicode_forms()
        codes = [*chardata.LIGATURES, *chardata.WIDTH_MAP, *range(128, 160)]
        forms = {c: ftfy.fix_text(c) for c in [*map(chr, codes), *others]}
        accents = "".join(sorted({pair[1] for pair in composed}))
        self._accented = f"[^{accents}][{accents}]"
        self._composed = tf_words.table(composed, _MARK)
        self._form = f"[{''.join(forms)}]"
        self._forms = tf_words.table(forms, _MARK)
        self._names = tf_words.table(chardata.HTML_ENTITIES, _MARK)
        codes = range(_LARGEST_NUMBER)
        numbers = [*map("&#{};".format, codes), *map("&#x{:x};".format, codes)]
        numbers = {number: fixes.unescape_html(number) for number in numbers}
        self._numbers = tf_words.table(numbers, _MARK)
        self._broken, mended = _mended_characters()
        self._mended = tf_words.table(mended, _MARK)

    def __call__(self, texts):
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
        texts = tf.strings.regex_replace(texts, _MARK, "")
        # ftfy unescapes entities up to the first line with "<".
        plain = tf.strings.regex_replace(texts, _BEFORE_HTML, r"\1")
        size = tf.strings.length(plain)
        html = tf.strings.substr(texts, size, tf.strings.length(texts) - size)
        texts = tf.strings.join([self._unescaped(plain), html])
        texts = _translated(texts, self._broken, self._mended)
        texts = _translated(texts, self._form, self._forms)
        for pattern, replacement in _REPLACED:
            texts = tf.strings.regex_replace(texts, pattern, replacement)
        for _ in range(2):  # A letter can have two accents.
            texts = _translated(texts, self._accented, self._composed)
        texts = tf.strings.strip(texts)
        return tf.strings.regex_replace(texts, r"\s*\n\s*", f" {NEWLINE} ")

    def _unescaped(self, texts):
        """Replace entities, including nested ones: `&amp;lt;`."""

        def step(texts, _):
            new = _translated(texts, _NAME, self._names)
            return _translated(new, _NUMBER, self._numbers, _plain), texts

        return tf.while_loop(
            lambda new, old: tf.reduce_any(new != old), step, step(texts, None)
        )[0]


@functools.cache
def _unicode_forms():
    """Return {letter and accent: letter} of NFC, and what else NFC replaces."""
    composed, others = {}, []
    for character in map(chr, range(0xC0, 0xFB50)):
        *first, last = unicodedata.normalize("NFD", character)
        if not unicodedata.is_normalized("NFC", character):
            others.append(character)
        elif first:
            start = unicodedata.normalize("NFC", "".join(first))
            composed[start + last] = character
    return composed, others


@functools.cache
def _mended_characters():
    """Return a pattern for text that ftfy may repair, and the repairs.

    Such text is UTF-8 decoded as Latin-1 or Windows-1252: letters (two bytes),
    punctuation and symbols (E2 and two more), emoji (F0 9F and two more).
    """
    mended = {}
    ranges = range(0x80, 0x800), range(0x2000, 0x3000), range(0x1F000, 0x20000)
    for encoding in ("latin-1", "sloppy-windows-1252"):
        for code in _flat(ranges):
            broken = chr(code).encode().decode(encoding)
            mended[broken] = ftfy.fix_encoding(broken)
    other = f"[{''.join(sorted({broken[-1] for broken in mended}))}]"
    pattern = (
        f"(?:\u00f0[\u009f\u0178]|\u00e2){other}{{2}}|[\u00c2-\u00df]{other}"
    )
    return pattern, {k: v for k, v in mended.items() if k != v}


def _translated(texts, pattern, table, plain=lambda found: found):
    """Replace each match of `pattern` with its value in a table.

    Matches that the table lacks are kept. `plain` maps matches to keys.
    """

    def replaced():
        marked = tf.strings.regex_replace(
            texts, f"({pattern})", rf"{_MARK}\1{_MARK}"
        )
        # [N] -> [N, (parts)] -> [N]
        parts = tf.strings.split(marked, _MARK)
        found = table.lookup(plain(parts.values))
        found = tf.where(found == _MARK, parts.values, found)
        return tf.strings.reduce_join(parts.with_values(found), axis=-1)

    has_any = tf.strings.regex_full_match(texts, f"(?s).*(?:{pattern}).*")
    found = tf.cond(tf.reduce_any(has_any), replaced, lambda: texts)
    return tf.ensure_shape(found, texts.shape)


def _plain(numbers):
    """Return numeric entities in lower case without leading zeros."""
    return tf.strings.regex_replace(
        tf.strings.lower(numbers), "^&#(x?)0*([0-9a-f]+;)$", r"&#\1\2"
    )


class BytePair(tf.Module):
    """`subwords.BytePair` as a graph, for all words at once.

    Letters: `W` words, `S` symbols of all words. A symbol is a character or
    the result of a merge, in the vocabulary or not.

    Call: string `[W]`, none empty, to ragged int32 `[W, (ids)]`.
    """

    def __init__(self, ids, merges):
        super().__init__()
        merged = list(map("".join, merges))
        symbols = [*filter(_is_character, ids), *_flat(merges), *merged]
        numbers = {symbol: i for i, symbol in enumerate(dict.fromkeys(symbols))}
        self._num_symbols = len(numbers)
        found = [ids.get(symbol, subwords.UNKNOWN_ID) for symbol in numbers]
        self._ids = tf.constant([*found, subwords.UNKNOWN_ID], tf.int32)
        characters = {s: i for s, i in numbers.items() if _is_character(s)}
        self._numbers = tf_words.table(characters, self._num_symbols)
        ranks = {_NO_PAIR: _NEVER}
        for rank, (left, right) in enumerate(merges):
            ranks[self._key(numbers[left], numbers[right])] = rank
        self._ranks = tf_words.table(ranks, _NEVER, key_dtype=tf.int64)
        results = [numbers[symbol] for symbol in merged] or [0]
        self._merged = tf.constant(results, tf.int32)

    def _key(self, left, right):
        return left * (self._num_symbols + 1) + right

    def __call__(self, words):
        # [W] -> [W, (characters)]
        characters = tf.strings.unicode_split(words, "UTF-8")
        rows = characters.value_rowids()
        is_last = rows != tf_words.shift_left(rows, 1, -1)
        ends = tf.where(is_last, subwords.END_OF_WORD, "")
        ended = tf.strings.join([characters.values, ends])
        symbols = self._numbers.lookup(ended)
        symbols, rows, _ = tf.while_loop(
            lambda symbols, rows, ranks: tf.reduce_any(ranks != _NEVER),
            self._merge,
            [symbols, rows, self._ranks_of_pairs(symbols, rows)],
            shape_invariants=[tf.TensorShape([None])] * 3,
        )
        ids = tf.gather(self._ids, symbols)
        return tf.RaggedTensor.from_value_rowids(
            ids, rows, nrows=characters.nrows(), validate=False
        )

    def _merge(self, symbols, rows, ranks):
        """Merge the leftmost pair of the lowest rank in each word.

        Takes and returns three `[S]`: symbols, the index of each one's word,
        and the rank of its pair with the next symbol.
        """
        place = tf.range(tf.size(symbols), dtype=tf.int64)
        order = tf.cast(ranks, tf.int64) * 2**32 + place
        best = tf.math.unsorted_segment_min(order, rows, tf.size(rows))
        is_left = (order == tf.gather(best, rows)) & (ranks != _NEVER)
        merged = tf.gather(self._merged, tf.where(is_left, ranks, 0))
        symbols = tf.where(is_left, merged, symbols)
        is_kept = ~tf.concat([[False], is_left[:-1]], axis=0)
        symbols = tf.boolean_mask(symbols, is_kept)
        rows = tf.boolean_mask(rows, is_kept)
        return symbols, rows, self._ranks_of_pairs(symbols, rows)

    def _ranks_of_pairs(self, symbols, rows):
        """Return the rank of each symbol's pair with the next one: `[S]`."""
        left = tf.cast(symbols, tf.int64)
        key = self._key(left, tf_words.shift_left(left, 1, 0))
        is_pair = rows == tf_words.shift_left(rows, 1, -1)
        return self._ranks.lookup(tf.where(is_pair, key, _NO_PAIR))


def _is_character(symbol):
    return 1 in (len(symbol), len(symbol.removesuffix(subwords.END_OF_WORD)))


class WordPiece(tf.Module):
    """`subwords.WordPiece` as a graph, by tensorflow-text.

    Call: string `[W]`, none empty, to ragged int32 `[W, (ids)]`.
    """

    def __init__(self, pieces):
        super().__init__()
        self._tokenizer = tensorflow_text.FastWordpieceTokenizer(
            pieces,
            suffix_indicator=subwords.CONTINUATION,
            # The limit is in characters, of at most four bytes each.
            max_bytes_per_word=4 * subwords.MAX_WORD_CHARACTERS,
            token_out_type=tf.int32,
            unknown_token=subwords.WordPiece.unknown,
            no_pretokenization=True,
        )

    def __call__(self, words):
        lengths = tf.strings.length(words, "UTF8_CHAR")
        is_long = lengths > subwords.MAX_WORD_CHARACTERS
        words = tf.where(is_long, subwords.WordPiece.unknown, words)
        return self._tokenizer.tokenize(words)


class GraphTokenizer(tf.Module):
    """`tokenizer.Tokenizer` as a graph.

    Its table holds the words of the vocabulary and `pieces`.

    Call: string `[N]`, any bytes, to ragged int32 `[N, (ids)]`, at most the
    first `limit` ids of each text.
    """

    def __init__(self, tokenizer, pieces=()):
        super().__init__()
        self._standardize = Standardize()
        self._rules = tf_words.WordRules()
        if tokenizer.type == "wordpiece":
            self._model = WordPiece(tokenizer.vocabulary)
        else:
            self._model = BytePair(tokenizer.ids, tokenizer.merges)
        listed = dict.fromkeys([*_vocabulary_words(tokenizer), *pieces])
        known = [piece for piece in listed if len(piece.split()) == 1]
        newline_id = tokenizer.newline_id or subwords.UNKNOWN_ID
        ids = [[newline_id], *tokenizer.encode_batch(known)]
        rows = {piece: row for row, piece in enumerate([NEWLINE, *known])}
        self._rows = tf_words.table(rows, -1)
        self._ids = tf.RaggedTensor.from_row_lengths(
            tf.constant(list(_flat(ids)), tf.int32), list(map(len, ids))
        )
        self._longest = max(map(len, tokenizer.vocabulary))
        # Traced once: a graph may tokenise several inputs.
        self._graph_of = functools.cache(self._traced)

    def __call__(self, texts, limit=None):
        return self._graph_of(limit)(texts)

    def _traced(self, limit):
        """Return a graph from texts to the first `limit` ids of each."""
        return tf.function(
            lambda texts: self._encoded(texts, limit),
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,  # which would take seconds
        )

    def _encoded(self, texts, limit):
        # [N] -> [N, (pieces)]
        pieces = tf.strings.split(self._standardize(texts))
        if limit is not None:
            # A piece has at least one id, an id at most `_longest` characters.
            pieces = pieces[:, :limit]
            longest = limit * self._longest
            cut = tf.strings.substr(pieces.values, 0, longest, "UTF8_CHAR")
            pieces = pieces.with_values(cut)
        unique, index = tf.unique(pieces.values)
        ids = self._ids_of_pieces(unique)
        # [N, (pieces), (ids)] -> [N, (ids)]
        ids = pieces.with_values(tf.gather(ids, index)).merge_dims(1, 2)
        return ids if limit is None else ids[:, :limit]

    def _ids_of_pieces(self, pieces):
        """Return the ids of distinct pieces: `[U]` to ragged `[U, (ids)]`."""
        rows = self._rows.lookup(pieces)
        is_known = rows >= 0
        known = tf.gather(self._ids, tf.boolean_mask(rows, is_known))
        words = self._rules(tf.boolean_mask(pieces, ~is_known))
        unique, index = tf.unique(words.values)
        # [u] -> [u, (words), (ids)] -> [u, (ids)]
        others = words.with_values(tf.gather(self._model(unique), index))
        others = others.merge_dims(1, 2)
        # Restore the order of the pieces.
        place = tf.concat([tf.where(is_known), tf.where(~is_known)], axis=0)
        order = tf.argsort(place[:, 0])
        return tf.gather(tf.concat([known, others], axis=0), order)


def frequent_pieces(texts, limit):
    """Return the most frequent pieces of texts, for the table of a graph."""
    counts = collections.Counter()
    for text in texts:
        text = standardize.repair(text)
        counts.update(standardize.standardize(text).split())
    return [piece for piece, _ in counts.most_common(limit)]


def _vocabulary_words(tokenizer):
    """Yield words that are one entry, in lower, title and upper case."""
    end = subwords.END_OF_WORD if tokenizer.type == "bpe" else ""
    for piece in tokenizer.vocabulary:
        if piece.endswith(end):
            word = piece.removesuffix(end)
            yield from (word, word.capitalize(), word.upper())
