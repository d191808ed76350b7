"""Windows of T tokens in books: which tokens a step reads (numpy only).

Training windows are a function of (seed, step). Held-out windows slide over
each book so that every token but the first of the book is scored once.
"""

import bisect

import numpy as np
from absl import logging

from gpt1_keras.errors import InputError

_ROUNDS = 6
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)


def mix(values):
    """Hash uint64 `[n]` to uint64 `[n]` (the finaliser of splitmix64)."""
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _FIRST_FACTOR
    values = (values ^ (values >> np.uint64(27))) * _SECOND_FACTOR
    return values ^ (values >> np.uint64(31))


def hash_of(*parts):
    """Hash integers or integer arrays `[n]`, element by element, to uint64."""
    result = np.zeros(1, np.uint64)
    for part in parts:
        if isinstance(part, int):
            part %= 1 << 64
        result = mix(result ^ mix(np.atleast_1d(part).astype(np.uint64)))
    return result


def permute(positions, size, keys):
    """Apply a keyed pseudo-random permutation of 0 .. size-1 to `positions`.

    Maps integers `[n]` to int64 `[n]`; `keys` are uint64 `[n]` or `[1]`, and
    each key gives another permutation.
    """
    half = max(1, -(-(int(size) - 1).bit_length() // 2))
    result = np.array(positions, np.uint64)
    keys = np.broadcast_to(keys, result.shape)
    outside = np.ones(len(result), bool)
    while outside.any():
        result[outside] = _feistel(result[outside], keys[outside], half)
        outside = result >= np.uint64(size)
    return result.astype(np.int64)


def _feistel(values, keys, half):
    """Permute the numbers of 2 * `half` bits: uint64 `[n]` to `[n]`."""
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> bits, values & mask
    for turn in range(_ROUNDS):
        # The high half of a mixed number is as random as the low one.
        mixed = mix(right ^ mix(keys + np.uint64(turn)))
        left, right = right, left ^ (mixed & mask)
    return (left << bits) | right


class TrainingWindows:
    """Random contiguous windows of T tokens, epoch after epoch.

    In each epoch a book of n tokens has n // T + 1 windows, all different.
    With a new random r in 1 .. T they start at

        clip(r + (i - 1) * T, 0, n - T)     for i = 0 .. n // T

    so that they tile the book from a random offset, and some of its first
    tokens are seen twice. If that would leave many tokens at the end unseen
    (2 * r < n % T), i starts at 1 instead and skips the first r tokens.
    So every token is seen once an epoch, except that those within T of either
    end of a book are seen, on average, between half and twice as often. A keyed
    permutation orders the windows.

    Args:
        lengths: int `[N]`, tokens of each book; books shorter than T are not
            used.
        sequence_length: int, T, at least 2.

    Attributes:
        books: int64 `[R]`, the books that are used.
        borders: int64 `[R + 1]`, the index of each used book's first window,
            with windows counted book by book; the last is `num_windows`.
        num_windows: int, windows of an epoch.
    """

    def __init__(self, lengths, *, sequence_length, seed):
        lengths = np.asarray(lengths, np.int64)
        self.books = np.flatnonzero(lengths >= sequence_length)
        if not len(self.books):
            longest = int(lengths.max(initial=0))
            raise InputError(
                f"no training book has {sequence_length} tokens (the longest "
                f"has {longest}): use longer books or a shorter sequence"
            )
        if num_short := len(lengths) - len(self.books):
            logging.info(
                f"{num_short} of {len(lengths)} training books are not used:"
                f" shorter than {sequence_length} tokens"
            )
        self._sequence_length = sequence_length
        self._seed = seed
        self._lengths = lengths[self.books]
        counts = self._lengths // sequence_length + 1
        counts[self._lengths == sequence_length] = 1
        self.borders = np.concatenate([[0], np.cumsum(counts)])
        self.num_windows = int(self.borders[-1])

    def at(self, numbers):
        """Return (book, start), int64 `[n]`, of windows in training order.

        `numbers` `[n]` count windows from 0 through all epochs.
        """
        epoch, position = np.divmod(numbers, self.num_windows)
        keys = hash_of(self._seed, 0, epoch)
        window = permute(position, self.num_windows, keys)
        return self.in_order(epoch, window)

    def in_order(self, epoch, window):
        """Return (book, start), int64 `[n]`, of windows before shuffling."""
        row = np.searchsorted(self.borders[1:], window, side="right")
        phase = self._phase(epoch, row)
        tile = window - self.borders[row] - 1
        tile += 2 * phase < self._lengths[row] % self._sequence_length
        start = phase + tile * self._sequence_length
        last = self._lengths[row] - self._sequence_length
        return self.books[row], np.clip(start, 0, last)

    def _phase(self, epoch, row):
        """Draw r from 1 .. T, or 1 .. T-1 where T would repeat a window."""
        is_multiple = self._lengths[row] % self._sequence_length == 0
        choices = self._sequence_length - is_multiple
        drawn = hash_of(self._seed, 1, epoch, self.books[row])
        # The bias of the modulo is below 2 ** -40 for any real T.
        return 1 + (drawn % choices.astype(np.uint64)).astype(np.int64)


def held_out_windows(lengths, *, sequence_length, stride, limit=None):
    """Cover books with windows that score each token but the first once.

        T = 4, stride = 2     tokens  0 1 2 3 4 5 6      (n = 7)
        window 0                      . x x x
        window 1                          . . x x
        window 2                            . . . x

    The last window of a book ends with the book, so its context is full.
    Returns int64 `[W, 4]`: the book of each window, and start, first scored
    token and end as positions in the book.

    Args:
        lengths: int `[N]`, tokens of each book.
        sequence_length: int, T.
        stride: int in 1 .. T-1; smaller gives more context and more work.
        limit: int. Cover only about this many tokens, from the beginnings of
            all books; None: all tokens.
    """
    lengths = np.asarray(lengths, np.int64)
    if limit is not None:  # Truncate all books to one length.
        cut = bisect.bisect_left(
            range(int(lengths.max(initial=0)) + 1),
            limit,
            key=lambda cut: np.minimum(lengths, cut).sum(),
        )
        lengths = np.minimum(lengths, max(2, cut))
    parts = [
        _slide(book, int(length), sequence_length, stride)
        for book, length in enumerate(lengths)
        if length >= 2
    ]
    return np.concatenate([np.zeros((0, 4), np.int64), *parts])


def _slide(book, length, sequence_length, stride):
    """Return the windows of one book, `[W, 4]`."""
    num_more = max(0, -(-(length - sequence_length) // stride))
    end = np.minimum(sequence_length + stride * np.arange(num_more + 1), length)
    start = np.maximum(end - sequence_length, 0)
    first_scored = np.concatenate([[1], end[:-1]])
    return np.stack([np.full_like(end, book), start, first_scored, end], axis=1)
