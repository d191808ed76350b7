"""Windows of books whose tokens nobody has counted, in pure numpy.

As `windows.TrainingWindows`, for books that are tokenised while a model
learns from them: a book is read whole, so the windows of a few books, a pool,
stand together, and the number of its tokens is estimated.
"""

import functools

import numpy as np

from gpt1_keras.data import permutation
from gpt1_keras.data import windows


class PooledWindows:
    """The endless stream of books, and which windows of each a step reads.

    In every epoch the books stand in a new random order. Each gives the
    windows that `windows.TrainingWindows` would cut from a book of its
    estimated length, stretched or pressed together to the length it turns
    out to have: their number is that of the estimate, and a token is seen
    about once an epoch. The windows of `pool_books` books that follow each
    other are shuffled. All is a function of the seed.

    Args:
        lengths: int `[N]`, estimated tokens of each book; shorter ones than
            T are not used.
        sequence_length: int, T, at least 2.
        seed: int.
        pool_books: int, cut to the number of books used.

    Attributes:
        num_windows: int, windows of one epoch.
        pool_books: int.

    Raises:
        InputError: no book has T tokens.
    """

    def __init__(self, lengths, *, sequence_length, seed, pool_books):
        self._windows = windows.TrainingWindows(
            lengths, sequence_length=sequence_length, seed=seed
        )
        self._lengths = np.asarray(lengths, np.int64)
        self._sequence_length = sequence_length
        self._seed = seed
        self._num_books = len(self._windows.books)
        self._epoch = functools.lru_cache(maxsize=4)(self._draw)
        self.num_windows = self._windows.num_windows
        self.pool_books = min(pool_books, self._num_books)

    def find(self, number):
        """Return (pool, place in it) of window `number` of the stream."""
        epoch, place = divmod(int(number), self.num_windows)
        borders = self._epoch(epoch)[1]
        nth = int(np.searchsorted(borders[1:], place, side="right"))
        pool = (epoch * self._num_books + nth) // self.pool_books
        return pool, int(number) - self._before(pool * self.pool_books)

    def book(self, place):
        """Return the book, an int below N, at `place` of the stream."""
        row, _ = self._row(place)
        return int(self._windows.books[row])

    def shares(self, place):
        """Return where the windows of the book at `place` begin.

        Returns:
            float64 `[K]`, ascending: 0 for the first of its tokens at which
            a window may begin, 1 for the last one.
        """
        row, epoch = self._row(place)
        first, end = self._windows.borders[row : row + 2]
        numbers = np.arange(first, end, dtype=np.int64)
        book, start = self._windows.in_order(
            np.full_like(numbers, epoch), numbers
        )
        last = self._lengths[book] - self._sequence_length
        return start / np.maximum(last, 1)

    def order(self, pool):
        """Return in which order the windows of a pool are read, int64 `[K]`.

        They are numbered as their books stand in the stream, and in a book
        as they begin.
        """
        first = pool * self.pool_books
        count = self._before(first + self.pool_books) - self._before(first)
        keys = permutation.hash_of(self._seed, 4, pool)
        return permutation.permute(np.arange(count), count, keys)

    def _before(self, place):
        """Return the windows of all books before `place` of the stream."""
        epoch, nth = divmod(place, self._num_books)
        return epoch * self.num_windows + int(self._epoch(epoch)[1][nth])

    def _row(self, place):
        epoch, nth = divmod(int(place), self._num_books)
        return int(self._epoch(epoch)[0][nth]), epoch

    def _draw(self, epoch):
        """Return the order of the books, and the borders of their windows."""
        rows = np.arange(self._num_books)
        keys = permutation.hash_of(self._seed, 5, epoch, rows)
        order = np.argsort(keys, kind="stable")
        counts = np.diff(self._windows.borders)[order]
        return order, np.concatenate([[0], np.cumsum(counts)])
