import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.tasks import zero_shot


def rows(*pairs):
    return [examples.Example("", label=b, group=g) for b, g in pairs]


def test_labels():
    assert zero_shot.labels("x", rows(("a", ""), (0, ""))) == ["a", 0]
    with pytest.raises(
        errors.InputError, match="^x: 2 examples, 1 of them without a label: t"
    ):
        zero_shot.labels("x", rows(("a", ""), (None, "")))
    with pytest.raises(errors.InputError, match="x: 0 examples"):
        zero_shot.labels("x", [])


def test_by_group():
    def mean(values):
        return {"mean": values.mean()}

    one = rows((1, "m"), (2, "m"))
    assert zero_shot.by_group(one, mean, [1, 2]) == {"mean": 1.5}
    two = rows((1, "m"), (2, "h"), (3, "m"))
    found = zero_shot.by_group(two, mean, [1, 2, 6])
    assert found == {"mean": 3, "mean_m": 3.5, "mean_h": 2}
    assert list(found) == ["mean", "mean_m", "mean_h"]


def test_majority():
    assert zero_shot.majority_accuracy(np.array([2, 0, 2, 1])) == {
        "accuracy": 0.5
    }
    assert zero_shot.majority_accuracy(["b", "b", "a"]) == {"accuracy": 2 / 3}
