"""`text.byte_pair` as a TensorFlow graph, all words at once."""

import numpy as np
import tensorflow as tf

from gpt1_keras.text import byte_pair

_NO_PAIR = -1  # the key of a symbol without a next one
_NEVER = np.iinfo("int32").max  # the rank of a pair that is not in the list


class BytePair(tf.Module):
    """Byte-pair encoding of words.

    Letters: `W` words, `S` symbols of all words. A symbol is a character or
    the outcome of a merge, in the vocabulary or not.

    Args:
        ids: dict from piece to id.
        merges: list of (left, right), in the order they were learned.

    Call arguments:
        words: string `[W]`, none empty.

    Returns:
        ragged int32 `[W, (ids)]`.
    """

    def __init__(self, ids, merges):
        super().__init__()
        symbols = _symbols(ids, merges)
        numbers = {symbol: i for i, symbol in enumerate(symbols)}
        self._num_symbols = len(symbols)
        unknown = byte_pair.UNKNOWN_ID
        self._ids = tf.constant(
            [ids.get(symbol, unknown) for symbol in symbols] + [unknown],
            tf.int32,
        )
        self._numbers = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                [s for s in symbols if _is_character(s)],
                [numbers[s] for s in symbols if _is_character(s)],
                tf.string,
                tf.int32,
            ),
            self._num_symbols,
        )
        pairs = [
            self._key(numbers[left], numbers[right]) for left, right in merges
        ]
        self._ranks = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                [_NO_PAIR, *pairs],
                [_NEVER, *range(len(merges))],
                tf.int64,
                tf.int32,
            ),
            _NEVER,
        )
        self._merged = tf.constant(
            [numbers[left + right] for left, right in merges] or [0], tf.int32
        )

    def _key(self, left, right):
        return left * (self._num_symbols + 1) + right

    def __call__(self, words):
        # [W] -> [W, (characters)]
        characters = tf.strings.unicode_split(words, "UTF-8")
        ends = characters.row_splits[1:] - 1
        is_last = tf.scatter_nd(
            ends[:, None],
            tf.ones_like(ends, tf.bool),
            tf.shape(characters.values, tf.int64),
        )
        characters = characters.with_values(
            tf.where(
                is_last,
                tf.strings.join([characters.values, byte_pair.END_OF_WORD]),
                characters.values,
            )
        )
        symbols, rows = self._merge_all(
            self._numbers.lookup(characters.values),
            tf.cast(characters.value_rowids(), tf.int32),
            tf.size(words),
        )
        order = tf.argsort(rows, stable=True)
        return tf.RaggedTensor.from_value_rowids(
            tf.gather(self._ids, tf.gather(symbols, order)),
            tf.cast(tf.gather(rows, order), tf.int64),
            nrows=tf.size(words, tf.int64),
            validate=False,
        )

    def _merge_all(self, symbols, rows, num_words):
        """Join pairs until no word has one of the list.

        Args:
            symbols: int32 `[S]`, of all words, one after another.
            rows: int32 `[S]`, the word of each.
            num_words: int32 scalar.

        Returns:
            `symbols`, `rows` after all merges, the words in another order.
        """
        nothing = tf.zeros([0], tf.int32)
        none_yet = tf.fill([num_words], _NEVER)
        flat = tf.TensorShape([None])
        *_, symbols, rows = tf.while_loop(
            lambda symbols, *_: tf.size(symbols) > 0,
            self._merge,
            [symbols, rows, none_yet, nothing, nothing],
            shape_invariants=[flat] * 5,
        )
        return symbols, rows

    def _merge(self, symbols, rows, last, done_symbols, done_rows):
        """Join the leftmost pair of the lowest rank in each word.

        Words without a pair of the list go to the end of `done_symbols` and
        `done_rows`. `last` `[W]` is the rank that was joined before.
        """
        ranks = self._ranks_of_pairs(symbols, rows)
        num_words = tf.size(last)
        # A pair is joined everywhere before any other is.
        goes_on = (ranks == tf.gather(last, rows)) & (ranks != _NEVER)
        goes_on = tf.math.unsorted_segment_max(
            tf.cast(goes_on, tf.int32), rows, num_words
        )
        best = tf.math.unsorted_segment_min(ranks, rows, num_words)
        best = tf.where(goes_on > 0, last, best)
        of_word = tf.gather(best, rows)
        is_done = of_word == _NEVER
        done_symbols, done_rows = (
            tf.concat([done, tf.boolean_mask(new, is_done)], axis=0)
            for done, new in ((done_symbols, symbols), (done_rows, rows))
        )
        symbols, rows, ranks, of_word = (
            tf.boolean_mask(each, ~is_done)
            for each in (symbols, rows, ranks, of_word)
        )
        place = tf.range(tf.size(symbols))
        first = tf.math.unsorted_segment_min(
            tf.where(ranks == of_word, place, tf.int32.max), rows, num_words
        )
        is_left = place == tf.gather(first, rows)
        symbols = tf.where(is_left, tf.gather(self._merged, of_word), symbols)
        is_kept = ~tf.concat([[False], is_left[:-1]], axis=0)[: tf.size(place)]
        return (
            tf.boolean_mask(symbols, is_kept),
            tf.boolean_mask(rows, is_kept),
            best,
            done_symbols,
            done_rows,
        )

    def _ranks_of_pairs(self, symbols, rows):
        """`[S]` -> the rank of each symbol and the next of its word, `[S]`."""
        left = tf.cast(symbols, tf.int64)
        key = self._key(left[:-1], left[1:])
        key = tf.where(rows[:-1] == rows[1:], key, _NO_PAIR)
        ranks = self._ranks.lookup(key)
        return tf.concat([ranks, [_NEVER]], axis=0)[: tf.size(symbols)]


def _is_character(symbol):
    return len(symbol.removesuffix(byte_pair.END_OF_WORD)) == 1 or (
        len(symbol) == 1
    )


def _symbols(ids, merges):
    """Return every symbol there can be, in any order."""
    found = [piece for piece in ids if _is_character(piece)]
    for left, right in merges:
        found += (left, right, left + right)
    return list(dict.fromkeys(found))
