import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras.evaluation import metrics

# By hand: 3 hits of class 1, 1 miss, 2 false alarms, 4 of class 0 right.
TARGETS = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
PREDICTIONS = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "metric, expected",
    [
        (metrics.accuracy, {"accuracy": 0.7}),
        (metrics.f1_and_accuracy, {"f1": 6 / 9, "accuracy": 0.7}),
        (metrics.matthews_and_accuracy, {"matthews": 10 / math.sqrt(600), "accuracy": 0.7}),
        (metrics.accuracy_and_macro_f1, {"accuracy": 0.7, "macro_f1": (6 / 9 + 8 / 11) / 2}),
        # Scores 0, 1: Pearson and Spearman are the Matthews correlation.
        (metrics.pearson_and_spearman, {"pearson": 10 / math.sqrt(600), "spearman": 10 / math.sqrt(600)}),
    ],
)  # fmt: skip
def test_worked_example(metric, expected):
    found = metric(np.array(TARGETS), np.array(PREDICTIONS))
    # The paper's metric stands first.
    assert found == pytest.approx(expected) and list(found) == list(expected)
    assert all(type(value) is float for value in found.values())


def test_confusion_of_classes():
    found = metrics.confusion(TARGETS, PREDICTIONS, ["no", "yes", "never"])
    # Labels are rows, predictions columns.
    assert found["confusion"] == [[4, 2, 0], [1, 3, 0], [0, 0, 0]]
    yes = {"precision": 0.6, "recall": 0.75, "f1": 6 / 9, "support": 4}
    assert list(found["classes"]) == ["no", "yes", "never"]
    assert found["classes"]["yes"] == pytest.approx(yes)
    assert set(found["classes"]["never"].values()) == {0}


def test_what_is_undefined_is_zero():
    for targets, predictions in (
        ([1, 1, 1], [1, 0, 1]),
        ([1, 0, 1], [0, 0, 0]),
        ([1, 0, 1], [1, math.nan, 0]),
    ):
        found = metrics.pearson_and_spearman(targets, predictions)
        assert found == {"pearson": 0, "spearman": 0}
    assert metrics.matthews_and_accuracy([1, 1], [1, 0])["matthews"] == 0
    assert metrics.f1_and_accuracy([0, 0], [0, 0])["f1"] == 0


def test_area_under_curve():
    # By hand: of 2 x 3 pairs class 1 is above in 4, equal in one.
    targets, scores = [1, 0, 0, 1, 0], [0.5, 0.1, 0.5, 0.4, 0.2]
    found = metrics.area_under_curve(targets, scores)
    assert found == {"auc": pytest.approx(4.5 / 6)}
    assert metrics.area_under_curve([1, 1], [0.1, 0.2]) == {"auc": 0.5}


def test_matthews_threshold_by_hand():
    for targets, scores, expected in (
        ([0, 1, 1, 0], [-5, -2, -1, -4], (-3.0, 1.0)),
        ([0, 1], [1.0, np.nextafter(1.0, 2)], (np.nextafter(1.0, 2), 1.0)),
        ([1, 1], [2.0, 1.0], (0.0, 0.0)),
        ([1, 0], [3.0, 3.0], (2.0, 0.0)),
        # The only threshold between them is no better than none.
        ([0, 1, 0, 1], [1.0, 1.0, 2.0, 2.0], (0.0, 0.0)),
        # As good at 0.5 and at 2.5: the lowest.
        ([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], (0.5, 1 / math.sqrt(3))),
        ([1, 1] + 4 * [1, 0], [3, 3, 0, 0, 1, 0, 1, 0, 0, 1], (0.5, 6**-0.5)),
    ):
        found = metrics.matthews_threshold(targets, scores)
        assert found == pytest.approx(expected, rel=1e-15)


@hypothesis.settings(max_examples=40)
@hypothesis.given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 9)), min_size=1, max_size=12
    )
)
def test_matthews_threshold_is_the_best(pairs):
    targets, scores = map(np.array, zip(*pairs))
    threshold, best = metrics.matthews_threshold(targets, scores)

    def matthews(value):
        found = metrics.matthews_and_accuracy(targets, scores >= value)
        return found["matthews"]

    # Below 0 class 1 is predicted always.
    expected = max(matthews(value) for value in np.arange(-0.5, 9.5))
    assert best == pytest.approx(expected, abs=1e-12)
    assert matthews(threshold) == pytest.approx(expected, abs=1e-12)


def test_agreement_of_ids_by_hand():
    found = metrics.agreement_of_ids([[1, 2], [3]], [[1, 2], [3, 4, 5]])
    # Three tokens are common, of two and of the longer three.
    assert found == {"identical_texts": 0.5, "identical_tokens": 0.6}
    found = metrics.agreement_of_ids([[1] * 300], [[2] + [1] * 299])
    assert found["identical_tokens"] == pytest.approx(299 / 300)
