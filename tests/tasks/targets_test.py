import hypothesis
import keras
import numpy as np
import pytest
from hypothesis import strategies

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.tasks import task

WORDS = ("entailment", "neutral", "contradiction")
SCORES = strategies.floats(0, 5)
LOGITS = strategies.lists(
    strategies.lists(
        strategies.floats(-50, 50, width=32), min_size=6, max_size=6
    ),
    min_size=1,
    max_size=4,
)


def example(label):
    return examples.Example("text", label=label)


def numpy_softmax(logits):
    exponents = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    "word, index", [("entailment", 0), ("neutral", 1), ("contradiction", 2)]
)
def test_classes_are_in_the_order_of_their_words(word, index):
    target = task.Classes(WORDS)
    assert target.num_outputs == 3
    encoded = target.encode(example(word))
    assert encoded == index and encoded.dtype == "int32"
    assert target.value(example(word)) == index
    logits = np.full((1, 3), -1.0)
    logits[0, index] = 1.0
    assert target.predict(logits).tolist() == [index]
    assert target.word(target.predict(logits)[0]) == word


@pytest.mark.parametrize("label", ["Neutral", "", None, 1])
def test_unknown_word(label):
    with pytest.raises(
        errors.InputError,
        match=f"^label {label!r} is none of entailment, neutral",
    ):
        task.Classes(WORDS).encode(example(label))


def test_choice():
    target = task.Choice()
    assert target.num_outputs == 1
    encoded = target.encode(example(3))
    assert encoded == 3 and encoded.dtype == "int32"
    logits = np.array([[0.0, 2.0, 1.0, -1.0], [5.0, 2.0, 1.0, -1.0]])
    assert target.predict(logits).tolist() == [1, 0]
    np.testing.assert_allclose(
        target.probabilities(logits), numpy_softmax(logits)
    )


# Golden values of the released utils.py, lines 25-36.
@pytest.mark.parametrize(
    "score, weights",
    [
        (3.2, [0, 0, 0, 0.8, 0.2, 0]),
        (5, [0, 0, 0, 0, 0, 1]),
        (0, [1, 0, 0, 0, 0, 0]),
        (2.5, [0, 0, 0.5, 0.5, 0, 0]),
    ],
)
def test_score_distribution(score, weights):
    target = task.ScoreDistribution(0, 5)
    assert target.num_outputs == 6
    encoded = target.encode(example(score))
    assert encoded.dtype == "float32"
    np.testing.assert_allclose(encoded, weights, atol=1e-6)
    assert target.value(example(score)) == score


@hypothesis.given(score=SCORES)
def test_score_distribution_has_the_score_as_its_expected_value(score):
    weights = task.ScoreDistribution(0, 5).encode(example(score)).astype("f8")
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    assert weights.min() >= 0
    assert weights @ np.arange(6) == pytest.approx(score, abs=1e-5)
    # Only the two numbers beside the score have weight.
    assert np.all(np.abs(np.flatnonzero(weights) - score) < 1)


def test_score_distribution_predicts_the_expected_value():
    target = task.ScoreDistribution(0, 5)
    halves = np.array([-1e4, -1e4, 0.0, 0.0, -1e4, -1e4])
    logits = np.stack(
        [np.zeros(6), halves, np.log([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])]
    )
    # 0.2 + 0.6 + 0.6 + 0.4 + 0.5
    np.testing.assert_allclose(target.predict(logits), [2.5, 2.5, 2.3])


@hypothesis.given(logits=LOGITS)
def test_score_distribution_predicts_within_its_range(logits):
    logits = np.array(logits)
    target = task.ScoreDistribution(0, 5)
    predictions = target.predict(logits)
    assert predictions.shape == (len(logits),)
    assert np.all((predictions >= 0) & (predictions <= 5 + 1e-9))
    expected = (numpy_softmax(logits) * np.arange(6)).sum(axis=-1)
    np.testing.assert_allclose(predictions, expected, atol=1e-9)


def test_score_distribution_of_another_range():
    target = task.ScoreDistribution(1, 3)
    assert target.num_outputs == 3
    np.testing.assert_allclose(target.encode(example(1.25)), [0.75, 0.25, 0])
    assert target.predict(np.array([[0.0, 0.0, 1e4]])).tolist() == [3]


def test_score_is_clipped_to_its_range():
    target = task.Score(0, 5)
    assert target.num_outputs == 1
    encoded = target.encode(example(3.25))
    assert encoded == 3.25 and encoded.dtype == "float32"
    predictions = target.predict(np.array([[-0.5], [2.25], [7.0]]))
    assert predictions.tolist() == [0, 2.25, 5]
    assert target.probabilities(np.zeros((2, 1))) is None


@pytest.mark.parametrize(
    "target", [task.ScoreDistribution(0, 5), task.Score(0, 5)]
)
@pytest.mark.parametrize("score", [-0.1, 5.1, float("nan")])
def test_score_out_of_range(target, score):
    with pytest.raises(
        errors.InputError, match=f"^score {score} is not within 0 .. 5"
    ):
        target.encode(example(score))


@pytest.mark.parametrize(
    "target, labels, expected",
    [
        (task.Classes(WORDS), ["neutral", "contradiction", "neutral"], 1),
        # As many of each: the first.
        (task.Classes(WORDS), ["contradiction", "entailment"], 0),
        (task.Choice(), [3, 2, 3, 0], 3),
        (task.ScoreDistribution(0, 5), [1.0, 2.0, 4.5], 2.5),
        (task.Score(0, 5), [1.0, 2.0, 4.5], 2.5),
    ],
)
def test_majority(target, labels, expected):
    assert target.majority([example(label) for label in labels]) == expected


@pytest.mark.parametrize(
    "target, prediction, word",
    [
        (task.Classes(WORDS), np.int64(2), "contradiction"),
        (task.Choice(), np.int64(2), "2"),
        (task.ScoreDistribution(0, 5), np.float64(2.34567), "2.346"),
        (task.Score(0, 5), np.float32(0), "0.000"),
    ],
)
def test_words_of_predictions(target, prediction, word):
    assert target.word(prediction) == word


@pytest.mark.parametrize(
    "target, labels, logits, expected",
    [
        # -log softmax of the right one.
        (
            task.Classes(WORDS),
            ["neutral", "entailment"],
            [[0, 0, 0], [np.log(2), 0, 0]],
            [np.log(3), np.log(2)],
        ),
        (task.Choice(), [1], [[0, 0, 0, 0]], [np.log(4)]),
        # Half of each of two: -(log .2 + log .8) / 2 = -log(.16) / 2.
        (
            task.ScoreDistribution(0, 1),
            [0.5],
            [np.log([0.2, 0.8])],
            [-np.log(0.4)],
        ),
        (task.Score(0, 5), [3.0, 1.0], [[5.0], [1.0]], [4, 0]),
    ],
)
def test_loss_of_labels_and_logits(target, labels, logits, expected):
    encoded = np.stack([target.encode(example(label)) for label in labels])
    loss = target.loss(
        keras.ops.convert_to_tensor(encoded),
        keras.ops.convert_to_tensor(np.array(logits, "float32")),
    )
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(loss), expected, atol=1e-6
    )
