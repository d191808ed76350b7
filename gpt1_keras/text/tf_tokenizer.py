"""`text.tokenizer` as a TensorFlow graph: strings in, ids out.

Core operations only, so that any TensorFlow runs it (WordPiece takes one of
tensorflow-text). Pieces of text that stand in a table have exactly the ids of
the Python pipeline, others go through the rules of `tf_words` and the merges.
"""

import collections
import itertools

import tensorflow as tf

from gpt1_keras.text import byte_pair
from gpt1_keras.text import standardize
from gpt1_keras.text import tf_byte_pair
from gpt1_keras.text import tf_standardize
from gpt1_keras.text import tf_words

_flat = itertools.chain.from_iterable


class GraphTokenizer(tf.Module):
    """Maps strings to ids as `text.tokenizer.Tokenizer` does.

    Args:
        tokenizer: the `Tokenizer`.
        pieces: str of the table (see `frequent_pieces`), besides the words of
            the vocabulary.

    Call arguments:
        texts: string `[N]`, any bytes.
        limit: int or None. Ids wanted of a text at most; what a long text has
            beyond them is not looked at.

    Returns:
        ragged int32 `[N, (ids)]`.

    Attributes:
        num_known: int, pieces of the table.
    """

    def __init__(self, tokenizer, pieces=()):
        super().__init__()
        self._standardize = tf_standardize.Standardize()
        self._rules = tf_words.WordRules()
        self._model = _model(tokenizer)
        newline = tokenizer.encode("a\nb")[
            len(tokenizer.encode("a")) : -len(tokenizer.encode("b"))
        ]
        known = list(
            dict.fromkeys(
                piece
                for piece in (*_vocabulary_words(tokenizer), *pieces)
                if piece and len(piece.split()) == 1
            )
        )
        ids = [newline, *tokenizer.encode_batch(known)]
        self._rows = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                [tf_standardize.NEWLINE, *known],
                range(len(ids)),
                tf.string,
                tf.int32,
            ),
            -1,
        )
        self._values = tf.constant(list(_flat(ids)), tf.int32)
        self._splits = tf.constant(
            [0, *itertools.accumulate(map(len, ids))], tf.int64
        )
        self.num_known = len(known)
        self._longest = max(map(len, tokenizer.vocabulary))

    def __call__(self, texts, limit=None):
        # [N] -> [N, (pieces)]
        pieces = tf.strings.split(self._standardize(texts))
        if limit is not None:
            # A piece is at least one id, an id at most `_longest` characters.
            pieces = pieces[:, :limit]
            pieces = pieces.with_values(
                tf.strings.substr(
                    pieces.values, 0, limit * self._longest, "UTF8_CHAR"
                )
            )
        unique, index = tf.unique(pieces.values)
        ids = self._ids_of_pieces(unique)
        # [N, (pieces), (ids)] -> [N, (ids)]
        ids = pieces.with_values(tf.gather(ids, index)).merge_dims(1, 2)
        return ids if limit is None else ids[:, :limit]

    def _ids_of_pieces(self, pieces):
        """Different pieces `[U]` -> ragged `[U, (ids)]`."""
        rows = self._rows.lookup(pieces)
        is_known = rows >= 0
        table = tf.RaggedTensor.from_row_splits(
            self._values, self._splits, validate=False
        )
        known = tf.gather(table, tf.boolean_mask(rows, is_known))
        others = self._ids_by_rules(
            tf.boolean_mask(pieces, tf.logical_not(is_known))
        )
        # Both, the known first, back in their order.
        place = tf.where(
            is_known,
            tf.cumsum(tf.cast(is_known, tf.int32)),
            tf.cumsum(tf.cast(~is_known, tf.int32))
            + tf.reduce_sum(tf.cast(is_known, tf.int32)),
        )
        return tf.gather(tf.concat([known, others], axis=0), place - 1)

    def _ids_by_rules(self, pieces):
        words = self._rules(pieces)
        unique, index = tf.unique(words.values)
        ids = tf.gather(self._model(unique), index)
        # [U, (words), (ids)] -> [U, (ids)]
        return words.with_values(ids).merge_dims(1, 2)


def frequent_pieces(texts, limit):
    """Return the most frequent pieces of texts, for the table.

    Args:
        texts: iterable of str.
        limit: int.
    """
    counts = collections.Counter()
    for text in texts:
        text = standardize.repair(text)
        counts.update(standardize.standardize(text).split())
    return [piece for piece, _ in counts.most_common(limit)]


def _vocabulary_words(tokenizer):
    """Words that are one entry, as people write them."""
    for piece in tokenizer.vocabulary:
        if tokenizer.type == "bpe":
            if not piece.endswith(byte_pair.END_OF_WORD):
                continue
            piece = piece.removesuffix(byte_pair.END_OF_WORD)
        yield from (piece, piece.capitalize(), piece.upper())


def _model(tokenizer):
    if tokenizer.type == "wordpiece":
        from gpt1_keras.text import tf_word_piece  # needs tensorflow-text

        return tf_word_piece.WordPiece(tokenizer.vocabulary)
    ids = {piece: i for i, piece in enumerate(tokenizer.vocabulary)}
    return tf_byte_pair.BytePair(ids, tokenizer.merges)
