import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data import examples


@given(st.integers(0, 200), st.none() | st.integers(1, 250))
def test_rows_are_different_and_rise(size, count):
    found = examples.draw_subset(size, count, dial="COUNT").tolist()
    assert len(found) == (size if count is None else min(size, count))
    assert found == sorted(set(found)) and set(found) <= set(range(size))
    assert found == examples.draw_subset(size, count, dial="COUNT").tolist()


def test_all_parts_of_a_file_are_drawn_from():
    found = examples.draw_subset(1000, 100, dial="COUNT")
    counts, _ = np.histogram(found, bins=10, range=(0, 1000))
    assert counts.min() >= 3


@pytest.mark.parametrize("count", [0, -5, 2.5, "10", True])
def test_wrong_numbers(count):
    with pytest.raises(errors.InputError, match=f"COUNT is {count!r}: give"):
        examples.draw_subset(10, count, dial="COUNT")
