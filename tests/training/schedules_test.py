"""Rates worked by hand from the formulas of the released opt.py."""

import keras
import pytest

from gpt1_keras.training import optimizers


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def test_linear_by_hand():
    schedule = optimizers.WarmupLinear(
        peak_learning_rate=2.0, num_steps=10, warmup_steps=2
    )
    # x / w (1 - x) up to x = w, then 1 - x, with x = step / 10.
    expected = [0.0, 0.9, 1.6, 1.4, 0.2]
    assert rates(schedule, [0, 1, 2, 3, 9]) == pytest.approx(expected)


def test_cosine_by_hand():
    schedule = optimizers.WarmupCosine(
        peak_learning_rate=2.0, num_steps=12, warmup_steps=3
    )
    # (1 + cos(pi x)) / 2 at x = 4/12, 6/12, 8/12 is 3/4, 1/2, 1/4.
    expected = [0.0, 2 / 3, 4 / 3, 1.5, 1.0, 0.5]
    assert rates(schedule, [0, 1, 2, 4, 6, 8]) == pytest.approx(expected)


def test_warm_up_ends_at_its_peak_and_the_cosine_is_not_restarted():
    schedule = optimizers.WarmupCosine(
        peak_learning_rate=1.0, num_steps=12, warmup_steps=4
    )
    # The rate falls from 1 to 0.853 at once, not smoothly from 1.
    assert rates(schedule, [4, 5]) == pytest.approx([1.0, 0.6294], abs=1e-4)


@pytest.mark.parametrize(
    "schedule", [optimizers.WarmupLinear, optimizers.WarmupCosine]
)
@pytest.mark.parametrize("warmup_steps", [0, 0.276, 5])
def test_first_update_changes_nothing_and_the_end_is_zero(
    schedule, warmup_steps
):
    made = schedule(
        peak_learning_rate=1.0, num_steps=138, warmup_steps=warmup_steps
    )
    assert rates(made, [0, 138]) == pytest.approx([0.0, 0.0], abs=1e-6)
    assert float(made(6)) > 0.9


def test_config_round_trip():
    schedule = optimizers.WarmupCosine(
        peak_learning_rate=0.5, num_steps=9, warmup_steps=1.5
    )
    again = optimizers.WarmupCosine.from_config(schedule.get_config())
    assert isinstance(again, keras.optimizers.schedules.LearningRateSchedule)
    assert rates(again, range(9)) == rates(schedule, range(9))
