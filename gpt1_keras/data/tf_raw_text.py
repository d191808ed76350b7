"""Training batches out of `.txt` books: cleaned and tokenised on the way."""

import numpy as np
import tensorflow as tf

from gpt1_keras.data import books
from gpt1_keras.data import pooled_windows
from gpt1_keras.text import tf_tokenizer

_NO_END = np.iinfo(np.int64).max
_PARALLEL_CALLS = 2
_PREFETCHED_BATCHES = 4
_MISSING = -1  # in place of an id, where a book is shorter than a window


class RawTextBatches:
    """Batches of T tokens, for `loader.load`; each is one of (seed, step).

    Books are read, cleaned, tokenised by `text.tf_tokenizer` and cut into
    windows in a tf.data chain, a pool of books ahead of the model. What step
    reads which window says `pooled_windows`; to begin at any step only the
    pool it falls into is read again. A book that turns out shorter than a
    window is filled up with tokens of weight 0.

    Args:
        pieces: list of `books.Piece`, the training books.
        lengths: int64 `[N]`, about how many tokens they have.
        tokenizer: `text.tokenizer.Tokenizer`.
        frequent: list of str, for the table of the graph
            (`tf_tokenizer.frequent_pieces`).
        batch_size: int, B.
        sequence_length: int, T.
        seed: int, the order of the data.
        pool_books: int, books whose windows are shuffled together.

    Attributes:
        num_windows: int, windows of one epoch.
    """

    def __init__(
        self,
        pieces,
        lengths,
        *,
        tokenizer,
        frequent,
        batch_size,
        sequence_length,
        seed,
        pool_books,
    ):
        self._pieces = pieces
        self._windows = pooled_windows.PooledWindows(
            lengths,
            sequence_length=sequence_length,
            seed=seed,
            pool_books=pool_books,
        )
        with tf.device("CPU:0"):  # where tf.data runs
            self._tokenizer = tf_tokenizer.GraphTokenizer(tokenizer, frequent)
        self._batch_size = batch_size
        self._sequence_length = sequence_length
        self.num_windows = self._windows.num_windows

    def dataset(self, *, first_step=0, num_steps):
        """Return the batches of consecutive steps, as `tf_loader.dataset`.

        Args:
            first_step: int, where a resumed run goes on.
            num_steps: int; None goes on without end.
        """
        first = first_step * self._batch_size
        pool, place = self._windows.find(first)
        pool_books = self._windows.pool_books
        books_read = tf.data.Dataset.range(pool * pool_books, _NO_END).map(
            self._book, num_parallel_calls=_PARALLEL_CALLS, deterministic=True
        )
        pools = tf.data.Dataset.zip(
            tf.data.Dataset.range(pool, _NO_END),
            books_read.ragged_batch(pool_books),
        )
        batches = (
            pools.map(self._shuffled)
            .prefetch(1)
            .unbatch()
            .skip(place)
            .batch(self._batch_size, drop_remainder=True)
            .map(self._batch)
        )
        if num_steps is not None:
            batches = batches.take(num_steps).apply(
                tf.data.experimental.assert_cardinality(num_steps)
            )
        return batches.prefetch(_PREFETCHED_BATCHES)

    def _book(self, place):
        """Return the windows of the book at `place`, int32 `[K, T]`."""
        text = tf.numpy_function(self._read, [place], tf.string)
        shares = tf.numpy_function(self._windows.shares, [place], tf.float64)
        ids = self._tokenizer(tf.reshape(text, [1])).values
        last = tf.maximum(tf.size(ids) - self._sequence_length, 0)
        start = tf.round(
            tf.ensure_shape(shares, [None]) * tf.cast(last, tf.float64)
        )
        # [K] -> [K, T]
        index = tf.cast(start, tf.int32)[:, None] + tf.range(
            self._sequence_length
        )
        missing = tf.fill([self._sequence_length], _MISSING)
        return tf.gather(tf.concat([ids, missing], axis=0), index)

    def _read(self, place):
        piece = self._pieces[self._windows.book(place)]
        width = books.head_width(piece.path)
        return "\n".join(books.read_piece(piece, width)).encode("utf-8")

    def _shuffled(self, pool, windows):
        """Ragged `[books, (K), T]` to the windows of the pool `[K, T]`."""
        order = tf.numpy_function(self._windows.order, [pool], tf.int64)
        return tf.gather(windows.values, tf.ensure_shape(order, [None]))

    def _batch(self, windows):
        """Return the dict of a batch (`data.batches`) of `[B, T]` ids."""
        shape = [self._batch_size, self._sequence_length]
        windows = tf.ensure_shape(windows, shape)
        is_token = windows != _MISSING
        weights = tf.cast(is_token, tf.float32)
        # Nothing precedes the first token.
        weights *= tf.cast(tf.range(shape[1]) > 0, tf.float32)
        last = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1) - 1
        return {
            "token_ids": tf.maximum(windows, 0)[:, None, :],
            "token_weights": weights[:, None, :],
            "extract_position": tf.maximum(last, 0)[:, None],
        }
