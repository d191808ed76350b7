import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot


def scores(sums, counts):
    return packing.Scores(
        np.array(sums), np.array(counts), np.zeros(len(sums), bool)
    )


def row(label, group=""):
    return examples.Example("", label=label, group=group)


def test_mean_not_sum_decides():
    # Means: -2, -1.5, -3; sums would choose 0.
    one = scores([-2.0, -6.0, -6.0], [1, 4, 2])
    probe = zero_shot.Reading()
    assert probe.measure([row(1)], [one]) == {"accuracy": 1.0}
    assert probe.measure([row(0)], [one]) == {"accuracy": 0.0}
    found = probe.measure(
        [row(1, "middle"), row(1, "high"), row(2, "high"), row(1, "middle")],
        [one] * 4,
    )
    assert found == {
        "accuracy": 0.75,
        "accuracy_middle": 1.0,
        "accuracy_high": 0.5,
    }
    with pytest.raises(errors.InputError, match="without a label"):
        probe.measure([row(None)], [one])


def test_majority():
    rows = [row(0, "middle"), row(0, "middle"), row(0, "high")]
    rows += [row(3, "high"), row(3, "high")]
    assert zero_shot.Reading().majority(rows) == {
        "accuracy": 0.6,
        "accuracy_middle": 1.0,
        "accuracy_high": 2 / 3,
    }
