import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.data import windows


@settings(max_examples=60)
@given(st.integers(1, 5000), st.integers(0, 2**64 - 1))
def test_is_a_bijection(size, key):
    keys = np.array([key], np.uint64)
    image = windows.permute(np.arange(size), size, keys)
    assert sorted(image) == list(range(size))


def test_element_by_element_is_the_whole():
    keys = np.array([7], np.uint64)
    whole = windows.permute(np.arange(1000), 1000, keys)
    single = [
        windows.permute(np.array([i]), 1000, keys)[0]
        for i in range(0, 1000, 37)
    ]
    assert single == list(whole[::37])


def test_keys_belong_to_elements():
    keys = np.arange(4, dtype=np.uint64)
    mixed = windows.permute(np.array([5, 5, 5, 5]), 10**6, keys)
    alone = [
        windows.permute(np.array([5]), 10**6, keys[i : i + 1])[0]
        for i in range(4)
    ]
    assert list(mixed) == alone
    assert len(set(alone)) == 4


def test_looks_random():
    size = 20_000
    image = windows.permute(np.arange(size), size, windows.hash_of(1))
    # Correlation of a random permutation with its index: sd 1 / sqrt(size).
    assert abs(np.corrcoef(np.arange(size), image)[0, 1]) < 5 / size**0.5
    steps = np.diff(image)
    assert abs(np.corrcoef(steps[:-1], steps[1:])[0, 1] + 0.5) < 0.05
    # Image of each tenth falls into each tenth about equally.
    table = np.histogram2d(np.arange(size), image, bins=10)[0]
    assert np.abs(table - size / 100).max() < 5 * (size / 100) ** 0.5


def test_works_on_sizes_beyond_32_bits():
    size = 10**13
    image = windows.permute(np.arange(1000), size, windows.hash_of(3))
    assert len(set(image)) == 1000
    assert 0 <= image.min() and image.max() < size
    assert image.mean() == pytest.approx(size / 2, rel=0.1)


def test_hash_takes_negative_and_array_parts():
    hashes = windows.hash_of(-1, np.arange(3))
    assert len(set(hashes.tolist())) == 3
    assert hashes.tolist() != windows.hash_of(1, np.arange(3)).tolist()


def test_mix_is_splitmix64():
    # First three outputs of Java's SplittableRandom / splitmix64.c, seed 0.
    golden = np.uint64(0x9E3779B97F4A7C15)
    states = np.arange(3, dtype=np.uint64) * golden
    assert [hex(value) for value in windows.mix(states)] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]
