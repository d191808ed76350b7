import itertools
import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from gpt1_keras.evaluation import metrics

ALL = [
    metrics.accuracy,
    metrics.f1_and_accuracy,
    metrics.matthews_and_accuracy,
    metrics.pearson_and_spearman,
]
# By hand: 3 hits of class 1, 1 miss, 2 false alarms, 4 of class 0 right.
TARGETS = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
PREDICTIONS = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "metric, expected",
    [
        (metrics.accuracy, {"accuracy": 0.7}),
        (metrics.f1_and_accuracy, {"f1": 6 / 9, "accuracy": 0.7}),
        (
            metrics.matthews_and_accuracy,
            {
                "matthews": (3 * 4 - 2 * 1) / math.sqrt(5 * 4 * 6 * 5),
                "accuracy": 0.7,
            },
        ),
        # Scores 0, 1: Pearson and Spearman are the Matthews correlation.
        (
            metrics.pearson_and_spearman,
            dict.fromkeys(["pearson", "spearman"], 10 / math.sqrt(600)),
        ),
    ],
)
def test_worked_example(metric, expected):
    found = metric(np.array(TARGETS), np.array(PREDICTIONS))
    assert found == pytest.approx(expected)
    # The paper's metric stands first.
    assert list(found) == list(expected)
    assert all(type(value) is float for value in found.values())


def test_correlations_of_scores():
    targets, predictions = [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0]
    found = metrics.pearson_and_spearman(targets, predictions)
    # Sums around the means: 15, 5 and 49.
    assert found["pearson"] == pytest.approx(15 / math.sqrt(5 * 49))
    assert found["spearman"] == pytest.approx(1.0)
    found = metrics.pearson_and_spearman(targets, [2.0, 1.0, 1.0, 0.0])
    # Ties share their ranks: 4, 2.5, 2.5, 1 against 1, 2, 3, 4.
    assert found["spearman"] == pytest.approx(-4.5 / math.sqrt(5 * 4.5))


def test_more_than_two_classes():
    assert metrics.accuracy([0, 1, 2, 3], [0, 2, 2, 3]) == {"accuracy": 0.75}


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("swap", [False, True])
def test_constants_are_no_correlation(constant, swap):
    pair = [np.array(TARGETS), np.full(10, constant)]
    pair = pair[::-1] if swap else pair
    assert metrics.matthews_and_accuracy(*pair)["matthews"] == 0.0
    scores = [values.astype("float64") for values in pair]
    assert metrics.pearson_and_spearman(*scores) == {
        "pearson": 0.0,
        "spearman": 0.0,
    }


def test_f1_without_any_positive():
    assert metrics.f1_and_accuracy(TARGETS, [0] * 10) == {
        "f1": 0.0,
        "accuracy": 0.6,
    }
    assert metrics.f1_and_accuracy([0, 0], [0, 0]) == {
        "f1": 0.0,
        "accuracy": 1.0,
    }
    assert metrics.f1_and_accuracy(TARGETS, [1] * 10)["f1"] == pytest.approx(
        8 / 14
    )
    assert metrics.f1_and_accuracy([1, 1], [1, 1]) == {
        "f1": 1.0,
        "accuracy": 1.0,
    }


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_predictions_that_are_no_numbers(value):
    found = metrics.pearson_and_spearman([0.0, 1.0, 2.0], [0.5, value, 1.0])
    assert found == {"pearson": 0.0, "spearman": 0.0}


@pytest.mark.parametrize("metric", ALL)
def test_shapes(metric):
    with pytest.raises(ValueError, match=r"\[N\], got \(2,\) and \(3,\)"):
        metric([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match=r"\[N\], got \(2, 1\) and \(2, 1\)"):
        metric([[0], [1]], [[0], [1]])
    with pytest.raises(ValueError, match="no predictions"):
        metric([], [])


def test_every_small_case_against_counting():
    """All binary targets and predictions of up to four examples."""
    for n in (1, 2, 3, 4):
        rows = list(itertools.product([0, 1], repeat=n))
        for targets, predictions in itertools.product(rows, rows):
            pairs = list(zip(targets, predictions))
            hits, misses = pairs.count((1, 1)), pairs.count((1, 0))
            alarms, rest = pairs.count((0, 1)), pairs.count((0, 0))
            both = 2 * hits + misses + alarms
            f1 = 2 * hits / both if both else 0.0
            product = (
                (hits + alarms)
                * (hits + misses)
                * (rest + alarms)
                * (rest + misses)
            )
            matthews = 0.0
            if product:
                matthews = (hits * rest - alarms * misses) / math.sqrt(product)
            found = metrics.f1_and_accuracy(targets, predictions)
            assert found == pytest.approx(
                {"f1": f1, "accuracy": (hits + rest) / n}
            )
            found = metrics.matthews_and_accuracy(targets, predictions)
            assert found["matthews"] == pytest.approx(matthews)


FLOATS = strategies.floats(width=32, allow_nan=True, allow_infinity=True)


@hypothesis.settings(max_examples=100)
@hypothesis.given(
    pairs=strategies.lists(strategies.tuples(FLOATS, FLOATS), min_size=1)
)
def test_correlations_are_numbers_whatever_comes(pairs):
    targets, predictions = np.array(pairs).T
    found = metrics.pearson_and_spearman(targets, predictions)
    assert all(-1 - 1e-9 <= value <= 1 + 1e-9 for value in found.values())


def test_area_under_curve():
    # By hand: of 2 x 3 pairs class 1 is above in 4, equal in one.
    targets, scores = [1, 0, 0, 1, 0], [0.5, 0.1, 0.5, 0.4, 0.2]
    assert metrics.area_under_curve(targets, scores) == {
        "auc": pytest.approx(4.5 / 6)
    }
    assert metrics.area_under_curve([1, 1], [0.1, 0.2]) == {"auc": 0.5}


@pytest.mark.parametrize(
    "targets, scores, expected",
    [
        ([0, 1, 1, 0], [-5, -2, -1, -4], (-3.0, 1.0)),
        ([0, 1], [1.0, np.nextafter(1.0, 2)], (np.nextafter(1.0, 2), 1.0)),
        ([1, 1], [2.0, 1.0], (0.0, 0.0)),
        ([1, 0], [3.0, 3.0], (2.0, 0.0)),
        # As good at 0.5 and at 2.5: the lowest.
        ([0, 1, 0, 1], [0.0, 1.0, 2.0, 3.0], (0.5, 1 / math.sqrt(3))),
    ],
)
def test_matthews_threshold_by_hand(targets, scores, expected):
    assert metrics.matthews_threshold(targets, scores) == pytest.approx(
        expected, rel=1e-15
    )


@hypothesis.given(
    strategies.lists(
        strategies.tuples(strategies.integers(0, 1), strategies.integers(0, 9)),
        min_size=1,
        max_size=20,
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
