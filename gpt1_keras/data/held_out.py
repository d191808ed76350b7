"""Which books are held out of training, and whether they really are new.

A book that stands in the corpus twice (a novel and the collection that
contains it) would make held-out perplexity too good. So the token sequences
of the held-out books are looked for in the training books.
"""

import hashlib

import numpy as np

from gpt1_keras.errors import InputError

# About ten words; novels share hardly any sequence of this length.
_SHINGLE_TOKENS = 12
_MAX_SHINGLES = 1 << 22
_BLOCK_TOKENS = 1 << 20
_FACTOR = 0x9E3779B97F4A7C15


def choose(names, *, fraction, seed):
    """Choose the held-out books by their names.

    Args:
        names: iterable of str.
        fraction: float in [0, 1), share of the books. Above 0 at least one
            book is held out, and one is always left for training.
        seed: int.

    Returns:
        list of str, in the (random) order of choice.
    """
    if not 0 <= fraction < 1:
        raise InputError(
            f"HELD_OUT_FRACTION is {fraction}: give a share from 0 up to 1"
        )
    ordered = sorted(names, key=lambda name: _rank(seed, name))
    if fraction == 0:
        return []
    count = max(1, round(fraction * len(ordered)))
    return ordered[: min(count, len(ordered) - 1)] if ordered else []


def keep_new(chosen, names, read, *, limit):
    """Drop held-out books that share text with the training books.

    Books with more than `limit` overlap go back to training, and the rest is
    compared with these too. The one with the least overlap always stays.

    Args:
        chosen: list of str, held-out books.
        names: list of str, all books.
        read: function of a name; yields the book's ids in integer arrays.
        limit: float, share of a book's sequences of 12 tokens that may
            stand in training books too.

    Returns:
        (overlap of the held-out books, overlap of those put back): dicts
        from name to float in [0, 1].
    """
    known = _Shingles(chosen, read)
    for name in sorted(set(names) - set(chosen)):
        known.mark(read(name))
    held, moved = list(chosen), {}
    while held:
        overlap = {name: known.overlap(name) for name in held}
        new = [name for name in held if overlap[name] <= limit]
        new = new or [min(held, key=overlap.get)]
        if new == held:
            return overlap, moved
        for name in [name for name in held if name not in new]:
            moved[name] = overlap[name]
            known.mark(read(name))
        held = new
    return {}, moved


class _Shingles:
    """Hashes of the sequences of 12 tokens in the held-out books."""

    def __init__(self, names, read):
        tokens = {name: sum(map(len, read(name))) for name in names}
        self._modulus = np.uint64(
            2 ** max(0, int(sum(tokens.values()) // _MAX_SHINGLES).bit_length())
        )
        hashes = {name: self._hashes(read(name)) for name in names}
        self._sorted = np.unique(
            np.concatenate([*hashes.values(), np.empty(0, np.uint64)])
        )
        self._places = {
            name: np.searchsorted(self._sorted, values)
            for name, values in hashes.items()
        }
        self._is_found = np.zeros(len(self._sorted), bool)

    def mark(self, blocks):
        if not len(self._sorted):
            return
        for block in _overlapping(blocks):
            hashes = self._sample(block)
            places = np.searchsorted(self._sorted, hashes)
            places = np.minimum(places, len(self._sorted) - 1)
            self._is_found[places[self._sorted[places] == hashes]] = True

    def overlap(self, name):
        places = self._places[name]
        return float(self._is_found[places].mean()) if len(places) else 0.0

    def _hashes(self, blocks):
        parts = [self._sample(block) for block in _overlapping(blocks)]
        return np.unique(np.concatenate([*parts, np.empty(0, np.uint64)]))

    def _sample(self, block):
        hashes = _shingle_hashes(block)
        # The high bits are the well mixed ones of a product.
        return hashes[(hashes >> np.uint64(40)) % self._modulus == 0]


def _shingle_hashes(ids):
    """Polynomial hashes of the 12-token sequences in int `[n]`: `[n - 11]`."""
    if len(ids) < _SHINGLE_TOKENS:
        return np.empty(0, np.uint64)
    factor, square, fourth = (
        np.uint64(pow(_FACTOR, power, 1 << 64)) for power in (1, 2, 4)
    )
    one = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
    one ^= one >> np.uint64(31)
    two = one[:-1] * factor + one[1:]
    four = two[:-2] * square + two[2:]
    eight = four[:-4] * fourth + four[4:]
    return eight[:-4] * fourth + four[8:]


def _overlapping(blocks):
    """Join blocks such that no sequence is lost at their borders."""
    rest = np.empty(0, np.int64)
    for block in blocks:
        rest = np.concatenate([rest, block])
        while len(rest) >= _BLOCK_TOKENS:
            yield rest[:_BLOCK_TOKENS]
            rest = rest[_BLOCK_TOKENS - _SHINGLE_TOKENS + 1 :]
    yield rest


def _rank(seed, name):
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8")).hexdigest()
