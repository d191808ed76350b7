import numpy as np
import pytest

from gpt1_keras.evaluation import metrics


def test_of_ids():
    found = metrics.agreement_of_ids(
        [[1, 2, 3], [4, 5], []], [[1, 2, 3], [4, 9, 5, 5], []]
    )
    assert found == {
        "identical_texts": pytest.approx(2 / 3),
        "identical_tokens": pytest.approx(5 / 7),
    }
    found = metrics.agreement_of_ids([[1, 2, 3, 4]], [[1, 3, 2, 7]])
    assert found == {"identical_texts": 0.0, "identical_tokens": 0.5}
    assert metrics.agreement_of_ids([], [])["identical_texts"] == 0.0


def test_of_numbers():
    expected = np.array([[0.1, 0.9], [0.5, 0.5], [0.2, 0.8]])
    found = np.array([[0.1, 0.9], [0.9, 0.1], [0.25, 0.75]])
    assert metrics.agreement_of_numbers(
        expected, found, [True, False, True]
    ) == pytest.approx(0.05)
    assert metrics.agreement_of_numbers(expected, found, [False] * 3) == np.inf
    found[0, 0] = np.nan
    assert np.isnan(metrics.agreement_of_numbers(expected, found, [True] * 3))


def test_of_classes():
    probabilities = [[0.1, 0.9], [0.5, 0.5 - 1e-7], [0.2, 0.8], [0.3, 0.7]]
    compared = [True] * 4
    for found, share in (
        ([1, 0, 1, 1], 1.0),
        ([1, 1, 1, 1], 1.0),  # a tie
        ([0, 0, 1, 1], 0.75),
        ([1, 0, -1, 2], 0.5),  # no classes
    ):
        assert (
            metrics.agreement_of_classes(probabilities, found, compared)
            == share
        )
    only = [False, True, True, True]
    assert (
        metrics.agreement_of_classes(probabilities, [0, 0, 1, 1], only) == 1.0
    )


def test_share_of_nothing_is_none():
    assert (
        metrics.agreement_share([True, False, True], [True, True, False]) == 0.5
    )
    assert metrics.agreement_share([True, True], [False, False]) == 0.0
