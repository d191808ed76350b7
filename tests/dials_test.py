import pathlib

import pytest

from gpt1_keras import checks
from gpt1_keras import errors


def test_counts_pass():
    checks.check_count("BATCH_SIZE", 1)
    checks.check_count("NUM_EXAMPLES", None, or_none="for all")
    for values in ((), (1, 2), [3]):
        checks.check_counts("BUCKET_LENGTHS", values)


@pytest.mark.parametrize("value", [0, -5, 1.5, "10", True, None])
def test_what_is_no_count(value):
    with pytest.raises(errors.InputError) as caught:
        checks.check_count("BATCH_SIZE", value)
    assert str(caught.value) == (
        f"BATCH_SIZE is {value!r}: give a whole number from 1 on"
    )
    if value is not None:
        with pytest.raises(errors.InputError, match="1 on, or None for all$"):
            checks.check_count("NUM_EXAMPLES", value, or_none="for all")


@pytest.mark.parametrize("values", [64, "64", (8, 0.5), (0,), (True,), None])
def test_what_are_no_counts(values):
    with pytest.raises(errors.InputError, match="^BUCKET_LENGTHS is .*: give"):
        checks.check_counts("BUCKET_LENGTHS", values)


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_numbers_pass(value):
    checks.check_number("WEIGHT_DECAY", value, low=0)
    checks.check_number("WARMUP_FRACTION", value, low=0, high=1)
    checks.check_count("SEED", int(value), low=0)


@pytest.mark.parametrize("value", ["0.5", None, True, -1, 1.5, float("nan")])
def test_what_is_no_share(value):
    with pytest.raises(errors.InputError, match="is .*: give a number 0 to 1$"):
        checks.check_number("WARMUP_FRACTION", value, low=0, high=1)


def test_what_is_too_low():
    with pytest.raises(errors.InputError, match="-1: give a number from 0 on$"):
        checks.check_number("WEIGHT_DECAY", -1, low=0)
    with pytest.raises(errors.InputError, match="whole number from 0 on$"):
        checks.check_count("SEED", -1, low=0)


def test_texts_and_paths():
    checks.check_text("PROMPT", "")
    checks.check_text("PRESET", pathlib.Path("out"))
    for value in (5, None, ("a",)):
        with pytest.raises(errors.InputError, match="^PRESET is .* in quotes$"):
            checks.check_text("PRESET", value)
