"""The held-out books of a corpus, and their overlap with training books."""

import hashlib
import os

import numpy as np

from gpt1_keras import files
from gpt1_keras.errors import InputError

_SHINGLE_TOKENS = 12  # about ten words; novels share hardly any such sequence
_MAX_SHINGLES = 1 << 22


def choose(names, *, fraction, seed):
    """Return the names of random held-out books, in the order of the draw.

    A `fraction` above 0 holds out at least one of two or more books, never all.
    """

    def rank(name):
        return hashlib.sha256(f"{seed}:{name}".encode("utf-8")).hexdigest()

    ordered = sorted(names, key=rank)
    count = max(1, round(fraction * len(ordered))) if fraction else 0
    return ordered[: min(count, len(ordered) - 1)]


def read_names(named):
    """Return a tuple of names, given as such or in a file of one per line."""
    if isinstance(named, str | os.PathLike):
        lines = files.read_text("`held_out_books`", named).split("\n")
        path, named = named, [each.strip() for each in lines if each.strip()]
        if not named:
            raise InputError(
                f"`held_out_books`: {path} is empty: write the path of a book"
                " on each line"
            )
    return None if named is None else tuple(named)


def find(names, wanted):
    """Return the `wanted` held-out books, sorted; all must be in `names`."""
    names, wanted = set(names), set(wanted)
    missing = sorted(wanted - names)
    if missing:
        raise InputError(
            f"`held_out_books`: the corpus has no book {missing[0]!r} "
            f"({len(missing)} of {len(wanted)} are missing); give names "
            "below the corpus folder, as in the index of the shards"
        )
    if wanted >= names:
        raise InputError("`held_out_books` names all books: name fewer")
    return sorted(wanted)


def overlaps(chosen, names, read, *, limit):
    """Measure how much of the held-out books occurs in training books.

    The overlap is a share of a book's 12-token sequences. Books with more than
    `limit` go back to training, and the others are compared with them, too. The
    book with the least overlap always stays.

    `chosen` and `names` are the names of the held-out and of all books;
    `read(name)` yields a book's ids in integer arrays. Returns {name: overlap}
    of the held-out books, and of those put back.
    """
    if not chosen:
        return {}, {}
    tokens = sum(len(ids) for name in chosen for ids in read(name))
    modulus = np.uint64(2 ** (tokens // _MAX_SHINGLES).bit_length())

    def sampled(name):
        block = np.empty(0, np.int64)
        for ids in read(name):
            # Keep the end: no sequence across two arrays is lost.
            block = np.concatenate([block[1 - _SHINGLE_TOKENS :], ids])
            hashes = _shingle_hashes(block)
            # The high bits of a product are better mixed than the low ones.
            yield hashes[(hashes >> np.uint64(40)) % modulus == 0]

    own = {name: np.unique(np.concatenate([*sampled(name)])) for name in chosen}
    # A sentinel at the end, so that every result of searchsorted is valid.
    largest = np.array([2**64 - 1], np.uint64)
    known = np.unique(np.concatenate([*own.values(), largest]))
    is_found = np.zeros(len(known), bool)

    def mark(name):
        """Mark the known sequences that occur in a training book."""
        for hashes in sampled(name):
            places = np.searchsorted(known, hashes)
            is_found[places[known[places] == hashes]] = True

    def overlap_of(name):
        found = is_found[np.searchsorted(known, own[name])]
        return float(found.mean()) if len(found) else 0.0

    for name in sorted(set(names) - set(chosen)):
        mark(name)
    held, moved = list(chosen), {}
    while True:
        overlap = {name: overlap_of(name) for name in held}
        new = [name for name in held if overlap[name] <= limit]
        new = new or [min(held, key=overlap.get)]
        if new == held:
            return overlap, moved
        for name in [name for name in held if name not in new]:
            moved[name] = overlap[name]
            mark(name)
        held = new


def _shingle_hashes(ids):
    """Polynomial hashes of the 12-token sequences in int `[n]`: `[n - 11]`."""
    one = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
    one ^= one >> np.uint64(31)
    size = max(0, len(ids) - _SHINGLE_TOKENS + 1)
    hashes = np.zeros(size, np.uint64)
    for i in range(_SHINGLE_TOKENS):
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += one[i : i + size]
    return hashes
