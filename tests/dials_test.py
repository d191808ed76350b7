import pytest

from gpt1_keras import dials
from gpt1_keras import errors


def test_counts_pass():
    dials.check_count("BATCH_SIZE", 1)
    dials.check_count("NUM_EXAMPLES", None, or_none="for all")
    for values in ((), (1, 2), [3]):
        dials.check_counts("BUCKET_LENGTHS", values)


@pytest.mark.parametrize("value", [0, -5, 1.5, "10", True, None])
def test_what_is_no_count(value):
    with pytest.raises(errors.InputError) as caught:
        dials.check_count("BATCH_SIZE", value)
    assert str(caught.value) == (
        f"BATCH_SIZE is {value!r}: give a whole number from 1 on"
    )
    if value is not None:
        with pytest.raises(errors.InputError, match="1 on, or None for all$"):
            dials.check_count("NUM_EXAMPLES", value, or_none="for all")


@pytest.mark.parametrize("values", [64, "64", (8, 0.5), (0,), (True,), None])
def test_what_are_no_counts(values):
    with pytest.raises(errors.InputError, match="^BUCKET_LENGTHS is .*: give"):
        dials.check_counts("BUCKET_LENGTHS", values)
