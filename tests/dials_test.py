import pathlib

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


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_numbers_pass(value):
    dials.check_number("WEIGHT_DECAY", value, low=0)
    dials.check_number("WARMUP_FRACTION", value, low=0, high=1)
    dials.check_count("SEED", int(value), low=0)


@pytest.mark.parametrize("value", ["0.5", None, True, -1, 1.5, float("nan")])
def test_what_is_no_share(value):
    with pytest.raises(errors.InputError, match="is .*: give a number 0 to 1$"):
        dials.check_number("WARMUP_FRACTION", value, low=0, high=1)


def test_what_is_too_low():
    with pytest.raises(errors.InputError, match="-1: give a number from 0 on$"):
        dials.check_number("WEIGHT_DECAY", -1, low=0)
    with pytest.raises(errors.InputError, match="whole number from 0 on$"):
        dials.check_count("SEED", -1, low=0)


def test_texts_and_paths():
    dials.check_text("PROMPT", "")
    dials.check_text("PRESET", pathlib.Path("out"))
    for value in (5, None, ("a",)):
        with pytest.raises(errors.InputError, match="^PRESET is .* in quotes$"):
            dials.check_text("PRESET", value)
