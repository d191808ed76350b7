"""A keyed pseudo-random permutation of 0 .. n-1, one element at a time.

A Feistel network permutes the numbers of an even count of bits; numbers that
fall outside 0 .. n-1 are permuted again until they fall inside (cycle
walking). Nothing of size n is ever made. Black and Rogaway 2002, "Ciphers
with arbitrary finite domains"; the mixing is splitmix64 (Steele et al. 2014).
"""

import numpy as np

_ROUNDS = 6
_GOLDEN = 0x9E3779B97F4A7C15


def mix(values):
    """Scramble uint64 `[n]` into uint64 `[n]` (splitmix64's finaliser)."""
    values = values + np.uint64(_GOLDEN)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    values = (values ^ (values >> np.uint64(27))) * np.uint64(
        0x94D049BB133111EB
    )
    return values ^ (values >> np.uint64(31))


def hash_of(*parts):
    """Hash integers or integer arrays, element by element.

    Args:
        *parts: ints or integer arrays `[n]`, broadcast against each other.

    Returns:
        uint64 `[n]`.
    """
    result = np.zeros(1, np.uint64)
    for part in parts:
        if isinstance(part, int):
            part %= 1 << 64
        result = mix(result ^ mix(np.atleast_1d(part).astype(np.uint64)))
    return result


def permute(positions, size, keys):
    """Return where a permutation of 0 .. size-1 takes `positions`.

    Args:
        positions: integer `[n]`, each in 0 .. size-1.
        size: int, at least 1.
        keys: uint64 `[n]` or `[1]`; each key is another permutation.

    Returns:
        int64 `[n]`.
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
    """Permute the numbers of 2 * `half` bits: uint64 `[n]` -> `[n]`."""
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> bits, values & mask
    for turn in range(_ROUNDS):
        # The high half of a mixed number is as random as the low one.
        mixed = mix(right ^ mix(keys + np.uint64(turn)))
        left, right = right, left ^ (mixed & mask)
    return (left << bits) | right
