import dataclasses

import numpy as np
import pytest

from gpt1_keras.data import examples
from gpt1_keras.data import transforms
from gpt1_keras.evaluation import metrics
from gpt1_keras.layers import heads
from gpt1_keras.tasks import task


def build(*functions):
    return task.Task(
        name="weather",
        read=lambda data_dir, split: [],
        transform=transforms.classification,
        build_head=heads.SumHead,
        target=task.Classes(("dry", "wet")),
        metrics=functions,
    )


def labelled(labels, groups):
    return [
        examples.Example("text", label=label, group=group)
        for label, group in zip(labels, groups, strict=True)
    ]


def test_measure_without_groups():
    rows = labelled(["wet", "dry", "wet", "wet"], [""] * 4)
    found = build(metrics.accuracy).measure(rows, np.array([1, 1, 1, 0]))
    assert found == {"accuracy": 0.5}


def test_measure_of_one_group_names_no_group():
    rows = labelled(["wet", "dry"], ["matched"] * 2)
    assert build(metrics.accuracy).measure(rows, [1, 0]) == {"accuracy": 1.0}


def test_measure_all_together_and_by_group():
    rows = labelled(["wet", "dry", "wet", "wet"], ["a", "b", "a", "a"])
    found = build(metrics.accuracy).measure(rows, np.array([1, 1, 1, 0]))
    assert found == pytest.approx(
        {"accuracy": 0.5, "accuracy_a": 2 / 3, "accuracy_b": 0.0}
    )


def test_all_metrics_are_measured_and_the_first_is_the_main_one():
    weather = build(metrics.f1_and_accuracy, metrics.matthews_and_accuracy)
    rows = labelled(["wet", "dry", "wet", "dry"], "aabb")
    found = weather.measure(rows, np.array([1, 1, 1, 0]))
    assert list(found) == [
        *("f1", "accuracy", "matthews"),
        *(
            "f1_a",
            "accuracy_a",
            "matthews_a",
            "f1_b",
            "accuracy_b",
            "matthews_b",
        ),
    ]
    assert weather.main_metric(found) == found["f1"] == pytest.approx(0.8)
    assert found["f1_b"] == 1.0


def test_majority_class_is_measured_as_any_prediction():
    rows = labelled(["wet", "dry", "wet"], [""] * 3)
    weather = build(metrics.accuracy)
    guess = np.full(3, weather.target.majority(rows))
    assert weather.measure(rows, guess)["accuracy"] == pytest.approx(2 / 3)


def test_a_task_is_a_value():
    weather = build(metrics.accuracy)
    with pytest.raises(dataclasses.FrozenInstanceError):
        weather.name = "climate"
    other = dataclasses.replace(weather, name="climate")
    assert other.name == "climate" and other.target is weather.target
