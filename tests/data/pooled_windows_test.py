import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data import tf_raw_text
from gpt1_keras.data import windows


def make(lengths, *, length=8, seed=3, pool_books=2):
    return tf_raw_text.PooledWindows(
        lengths, sequence_length=length, seed=seed, pool_books=pool_books
    )


def stream(made, num_pools):
    """(place of the book, share) of every window, as they are read."""
    found = []
    for pool in range(num_pools):
        places = range(pool * made.pool_books, (pool + 1) * made.pool_books)
        of_pool = [(p, share) for p in places for share in made.shares(p)]
        found += [of_pool[i] for i in made.order(pool)]
    return found


@settings(max_examples=50, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 90), min_size=1, max_size=6),
    pool_books=st.integers(1, 7),
    seed=st.integers(0, 5),
)
def test_an_epoch_has_the_windows_of_counted_books(lengths, pool_books, seed):
    """Where the estimate is right they start where `TrainingWindows` do."""
    lengths = [*lengths, 20]
    made = make(lengths, seed=seed, pool_books=pool_books)
    counted = windows.TrainingWindows(lengths, sequence_length=8, seed=seed)
    num_books = sum(length >= 8 for length in lengths)
    num_pools = 3 * num_books  # three epochs or more
    found = stream(made, num_pools)
    for epoch in range(2):
        numbers = np.arange(counted.num_windows) + epoch * counted.num_windows
        expected = collections.Counter(
            map(tuple, np.stack(counted.at(numbers), axis=1).tolist())
        )
        starts = collections.Counter(
            (
                made.book(place),
                round(share * (lengths[made.book(place)] - 8)),
            )
            for place, share in found
            if place // num_books == epoch
        )
        assert starts == expected


@settings(max_examples=50, deadline=None)
@given(number=st.integers(0, 200), pool_books=st.integers(1, 5))
def test_find_is_where_the_stream_has_the_window(number, pool_books):
    made = make([30, 9, 50, 7, 21], pool_books=pool_books)
    everything = stream(made, 80)
    pool, place = made.find(number)
    before = sum(len(made.order(p)) for p in range(pool))
    assert before + place == number
    assert 0 <= place < len(made.order(pool))
    assert number < len(everything)


def test_order_differs_between_pools_epochs_and_seeds():
    made = make([80] * 4, pool_books=2)
    assert sorted(made.order(0)) == list(range(len(made.order(0))))
    assert made.order(0).tolist() != made.order(1).tolist()
    epochs = [[made.book(4 * e + i) for i in range(4)] for e in range(6)]
    assert all(sorted(epoch) == [0, 1, 2, 3] for epoch in epochs)
    assert len(set(map(tuple, epochs))) > 1
    other = make([80] * 4, pool_books=2, seed=4)
    assert stream(made, 2) != stream(other, 2)


def test_no_book_is_long_enough():
    with pytest.raises(errors.InputError, match="no training book has 8"):
        make([3, 7])
