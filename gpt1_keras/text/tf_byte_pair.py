"""`text.byte_pair` as a TensorFlow graph, all words at once."""

import numpy as np
import tensorflow as tf

from gpt1_keras.text import byte_pair

_NO_PAIR = -1  # the key of a symbol without a next one
_NEVER = np.iinfo("int32").max  # the rank of a pair that is not in the list


class BytePair(tf.Module):
    """Byte-pair encoding of words.

    Letters: `W` words, `L` symbols of the longest. A symbol is a character or
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
        # [W] -> [W, (characters)] -> [W, L], -1 after the end
        characters = tf.strings.unicode_split(words, "UTF-8")
        end = tf.cast(characters.row_lengths(), tf.int32)[:, None]
        characters = characters.to_tensor("")
        column = tf.range(tf.shape(characters)[1])[None, :]
        characters = tf.where(
            column == end - 1,
            tf.strings.join([characters, byte_pair.END_OF_WORD]),
            characters,
        )
        symbols = tf.where(column < end, self._numbers.lookup(characters), -1)
        ranks = self._ranks_of_pairs(symbols)
        symbols, _, _ = tf.while_loop(
            lambda symbols, ranks, best: tf.reduce_any(best != _NEVER),
            self._merge,
            [symbols, ranks, tf.reduce_min(ranks, axis=-1)],
            shape_invariants=[
                *(tf.TensorShape([None, None]), tf.TensorShape([None, None])),
                tf.TensorShape([None]),
            ],
        )
        is_there = symbols >= 0
        found = tf.gather(self._ids, tf.maximum(symbols, 0))
        return tf.ragged.boolean_mask(found, is_there)

    def _ranks_of_pairs(self, symbols):
        """`[W, L]` -> the rank of each symbol and the next, `[W, L]`."""
        left = tf.cast(symbols, tf.int64)
        right = tf.pad(left[:, 1:], [[0, 0], [0, 1]], constant_values=-1)
        is_pair = (left >= 0) & (right >= 0)
        return self._ranks.lookup(tf.where(is_pair, self._key(left, right), -1))

    def _merge(self, symbols, ranks, best):
        """Join the leftmost pair of rank `best` `[W]` in each word."""
        position = tf.argmax(
            ranks == best[:, None], axis=-1, output_type=tf.int32
        )[:, None]
        column = tf.range(tf.shape(symbols)[1])[None, :]
        is_over = best == _NEVER
        merged = tf.gather(self._merged, tf.where(is_over, 0, best))[:, None]
        shifted = tf.pad(symbols[:, 1:], [[0, 0], [0, 1]], constant_values=-1)
        joined = tf.where(column < position, symbols, shifted)
        joined = tf.where(column == position, merged, joined)
        symbols = tf.where(is_over[:, None], symbols, joined)
        ranks = self._ranks_of_pairs(symbols)
        # A pair is joined everywhere before any other is.
        is_left = tf.reduce_any(ranks == best[:, None], axis=-1)
        best = tf.where(is_left, best, tf.reduce_min(ranks, axis=-1))
        return symbols, ranks, best


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
