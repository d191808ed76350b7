"""Windows of T tokens in books: which tokens a step reads (numpy only)."""

import bisect

import numpy as np
from absl import logging

from gpt1_keras.errors import InputError

_ROUNDS = 6


def hash_of(*parts):
    """Hash integers or integer arrays `[n]`, element by element, to uint64."""
    result = np.zeros(1, np.uint64)
    for part in parts:
        if isinstance(part, int):
            part %= 1 << 64
        result = _mix(result ^ _mix(np.atleast_1d(part).astype(np.uint64)))
    return result


def _mix(values):
    """Hash uint64 `[n]` to uint64 `[n]` (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def shuffled(size, *key):
    """Return int64 0 .. size-1 in random order; integers `key` are the seed."""
    return np.argsort(hash_of(*key, np.arange(size)), kind="stable")


def permute(positions, size, keys):
    """Apply keyed pseudo-random permutations of 0 .. size-1 to `positions`.

    Maps integers `[n]` to int64 `[n]`; `keys` are uint64 `[n]` or `[1]`.
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
        mixed = _mix(right ^ _mix(keys + np.uint64(turn)))
        left, right = right, left ^ (mixed & mask)
    return (left << bits) | right


class TrainingWindows:
    """Random contiguous windows of T tokens, epoch after epoch.

    In each epoch a book of n tokens has n // T + 1 different windows, which
    tile it from a random offset. With a new random r in 1 .. T they start at

        clip(r + (i - 1) * T, 0, n - T)     for i = 0 .. n // T

    and some of the first tokens are seen twice. If that would leave many tokens
    at the end unseen (2 * r < n % T), i starts at 1 instead and skips the first
    r tokens. So every token is seen once an epoch, but those within T of either
    end of a book, on average, between half and twice as often.

    `lengths` `[N]` are the tokens of each book; `sequence_length` T is above 1.

    Attributes:
        books: int64 `[R]`, the books that are used, of at least T tokens.
        borders: int64 `[R + 1]`, the index of each used book's first window,
            counted book by book, and `num_windows`.
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

        `numbers` `[n]` count windows from 0 through all epochs; in each epoch,
        a keyed permutation orders the windows.
        """
        epoch, position = np.divmod(numbers, self.num_windows)
        keys = hash_of(self._seed, 0, epoch)
        window = permute(position, self.num_windows, keys)
        return self.in_order(epoch, window)

    def in_order(self, epoch, window):
        """Return (book, start), int64 `[n]`, of windows before shuffling."""
        row = np.searchsorted(self.borders[1:], window, side="right")
        book, length = self.books[row], self._lengths[row]
        remainder = length % self._sequence_length
        # r is drawn from 1 .. T, or 1 .. T-1 where T would repeat a window. The
        # bias of the modulo is below 2 ** -40 for any real T.
        choices = self._sequence_length - (remainder == 0)
        drawn = hash_of(self._seed, 1, epoch, book) % choices.astype(np.uint64)
        phase = 1 + drawn.astype(np.int64)
        tile = window - self.borders[row] - 1 + (2 * phase < remainder)
        start = phase + tile * self._sequence_length
        return book, np.clip(start, 0, length - self._sequence_length)


def held_out_windows(lengths, *, sequence_length, stride, limit=None):
    """Cover books with windows that score each token but the first once.

        T = 4, stride = 2     tokens  0 1 2 3 4 5 6      (n = 7)
        window 0                      . x x x
        window 1                          . . x x
        window 2                            . . . x

    The last window of a book ends with the book, so its context is full.
    Returns int64 `[W, 4]`: the book of each window, and start, first scored
    token and end as positions in the book.

    `lengths` `[N]` are the tokens of each book. A smaller `stride` in 1 .. T-1
    gives more context and more work. With a `limit`, only about this many
    tokens are covered, from the beginnings of all books.
    """
    lengths = np.asarray(lengths, np.int64)
    if limit is not None:  # Truncate all books to one length.
        cut = bisect.bisect_left(
            range(int(lengths.max(initial=0)) + 1),
            limit,
            key=lambda cut: np.minimum(lengths, cut).sum(),
        )
        lengths = np.minimum(lengths, max(2, cut))
    found = [np.zeros((0, 4), np.int64)]
    for book in np.flatnonzero(lengths >= 2):
        num_more = max(0, -(-(lengths[book] - sequence_length) // stride))
        end = sequence_length + stride * np.arange(num_more + 1)
        end = np.minimum(end, lengths[book])
        start = np.maximum(end - sequence_length, 0)
        first_scored = np.concatenate([[1], end[:-1]])
        books = np.full_like(end, book)
        found.append(np.stack([books, start, first_scored, end], axis=1))
    return np.concatenate(found)
