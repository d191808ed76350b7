import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras.data import windows
from gpt1_keras.errors import InputError


def epoch(lengths, length, seed, number):
    stream = windows.TrainingWindows(lengths, sequence_length=length, seed=seed)
    first = number * stream.num_windows
    return stream.at(first + np.arange(stream.num_windows))


@hypothesis.settings(max_examples=80)
@hypothesis.given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    st.integers(2, 12),
    st.integers(0, 2**40),
    st.integers(0, 5),
)
def test_an_epoch_tiles_every_book(lengths, length, seed, number):
    if max(lengths) < length:
        with pytest.raises(InputError, match="no training book has"):
            epoch(lengths, length, seed, number)
        return
    books, placed = epoch(lengths, length, seed, number)
    for book, n in enumerate(lengths):
        starts = sorted(placed[books == book].tolist())
        if n < length:
            assert starts == []
            continue
        count = 1 if n == length else n // length + 1
        assert len(starts) == len(set(starts)) == count
        assert 0 <= starts[0] and starts[-1] <= n - length
        gaps = np.diff(starts)
        assert (gaps <= length).all()  # no token between is left out
        assert (gaps[1:-1] == length).all()  # the inner windows tile
        unseen = starts[0] + n - length - starts[-1]
        assert unseen <= n % length / 2


def test_windows_of_earlier_versions():
    """Runs that were started before resume with the same batches."""
    stream = windows.TrainingWindows([30, 45, 7], sequence_length=8, seed=1)
    book, start = stream.at(np.arange(12))
    assert book.tolist() == [0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 1]
    assert start.tolist() == [17, 14, 1, 9, 37, 6, 22, 0, 30, 22, 19, 35]
    book, start = stream.at(np.array([11, 3]))  # any of them, in any order
    assert (book.tolist(), start.tolist()) == ([1, 0], [35, 9])
    # Many windows, also beyond 32 bits.
    for size, seed, expected in (
        (20_000, 1, [9815, 18685, 14309, 13704]),
        (10**13, 3, [8210513389122, 6466594557252, 2345777546472]),
    ):
        numbers = np.arange(len(expected))
        found = windows.permute(numbers, size, windows.hash_of(seed))
        assert found.tolist() == expected

    # Epochs and seeds, and only they, change order and phases.
    def order(seed, number):
        book, start = epoch([1007, 2003], 100, seed, number)
        return list(zip(book.tolist(), start.tolist()))

    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)
    assert sorted(order(1, 0)) != sorted(order(1, 1))


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    st.lists(st.integers(0, 40), min_size=1, max_size=6),
    st.integers(2, 10),
    st.data(),
)
def test_held_out_scores_each_token_once(lengths, length, data):
    stride = data.draw(st.integers(1, length - 1))
    placed = windows.held_out_windows(
        lengths, sequence_length=length, stride=stride
    )
    scored = [np.zeros(n, int) for n in lengths]
    for book, start, first, end in placed:
        assert 0 <= start < first < end <= lengths[book]
        assert end - start == min(length, lengths[book])
        # After the first window, each token has at least T - stride before it.
        assert start == 0 or first - start >= length - stride
        scored[book][first:end] += 1
    for counts in scored:
        assert counts[:1].sum() == 0 and (counts[1:] == 1).all()


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    st.lists(st.integers(0, 500), min_size=1, max_size=8), st.integers(1, 2000)
)
def test_limit_spreads_over_the_books(lengths, limit):
    placed = windows.held_out_windows(
        lengths, sequence_length=8, stride=4, limit=limit
    )
    ends = np.zeros(len(lengths), int)
    np.maximum.at(ends, placed[:, 0], placed[:, 3])
    usable = [min(n, 2) if n >= 2 else 0 for n in lengths]
    assert np.all(ends >= usable)
    assert ends.sum() <= max(limit + len(lengths), sum(usable))
    if limit >= sum(lengths):
        assert ends.tolist() == [n if n >= 2 else 0 for n in lengths]
    elif limit >= 2 * len(lengths):
        assert ends.sum() >= limit - len(lengths)
        cut = [e for e, n in zip(ends, lengths) if e < n and n >= 2]
        assert len(set(cut)) <= 1  # one length for all that are truncated


@hypothesis.settings(max_examples=60)
@hypothesis.given(st.integers(1, 5000), st.integers(0, 2**64 - 1))
def test_permutation_is_a_bijection(size, key):
    keys = np.array([key], np.uint64)
    whole = windows.permute(np.arange(size), size, keys)
    assert sorted(whole) == list(range(size))
    one = windows.permute(np.array([size // 2]), size, keys)
    assert one[0] == whole[size // 2]

    # Keys belong to elements.
    keys = np.arange(4, dtype=np.uint64)
    mixed = windows.permute(np.array([5, 5, 5, 5]), 10**6, keys)
    alone = [
        windows.permute(np.array([5]), 10**6, keys[i : i + 1])[0]
        for i in range(4)
    ]
    assert list(mixed) == alone and len(set(alone)) == 4
