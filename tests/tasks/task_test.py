import keras
import numpy as np
import pytest
from scipy import special

from gpt1_keras.data import examples
from gpt1_keras.data import transforms
from gpt1_keras.evaluation import metrics
from gpt1_keras.tasks import task

CLASSES = task.Classes(("entailment", "neutral", "contradiction"))
CHOICE = task.Choice()
WEIGHTS = task.ScoreDistribution(0, 5)
SCORE = task.Score(0, 5)


def example(label, group=""):
    return examples.Example("text", label=label, group=group)


@pytest.mark.parametrize(
    "space, num_outputs, label, encoded, value, written",
    [
        (CLASSES, 3, "entailment", 0, 0, "entailment"),
        (CLASSES, 3, "contradiction", 2, 2, "contradiction"),
        (CHOICE, 1, 3, 3, 3, "3"),
        (SCORE, 1, 3.25, 3.25, 3.25, "3.250"),
        # Golden values of the released utils.py, lines 25-36.
        (WEIGHTS, 6, 3.2, [0, 0, 0, 0.8, 0.2, 0], 3.2, "3.200"),
        (WEIGHTS, 6, 5, [0, 0, 0, 0, 0, 1], 5, "5.000"),
        (WEIGHTS, 6, 0, [1, 0, 0, 0, 0, 0], 0, "0.000"),
        (WEIGHTS, 6, 2.5, [0, 0, 0.5, 0.5, 0, 0], 2.5, "2.500"),
        (task.ScoreDistribution(1, 3), 3, 1.25, [0.75, 0.25, 0], 1.25, "1.250"),
    ],
)
def test_labels(space, num_outputs, label, encoded, value, written):
    assert space.num_outputs == num_outputs
    found = space.encode(example(label))
    is_class = space in (CLASSES, CHOICE)
    assert found.dtype == ("int32" if is_class else "float32")
    np.testing.assert_allclose(found, encoded, atol=1e-6)
    assert space.value(example(label)) == value
    assert space.format(np.asarray(value)[()]) == written


LOGITS = np.random.default_rng(0).normal(size=(4, 6)) * 3


# The answers in numpy, and in the backend as exports compute them.
@pytest.mark.parametrize("ops", [np, keras.ops])
@pytest.mark.parametrize(
    "space, logits, expected",
    [
        (CLASSES, [[0, 2, 1], [-9, -8, 5.0]], [1, 2]),
        (CHOICE, [[0, 2, 1, -1], [5, 2, 1, -1.0]], [1, 0]),
        (SCORE, [[-0.5], [2.25], [7]], [0, 2.25, 5]),
        # 0.2 + 0.6 + 0.6 + 0.4 + 0.5
        (WEIGHTS, np.log([[0.1, 0.2, 0.3, 0.2, 0.1, 0.1]]), [2.3]),
        (WEIGHTS, [[-1e4, -1e4, 0, 0, -1e4, -1e4]], [2.5]),
        (task.ScoreDistribution(1, 3), [[0, 0, 1e4]], [3]),
        (WEIGHTS, LOGITS, special.softmax(LOGITS, axis=-1) @ np.arange(6)),
    ],
)
def test_answers(ops, space, logits, expected):
    logits = np.array(logits, "float32")
    given = logits if ops is np else ops.convert_to_tensor(logits)
    convert = keras.ops.convert_to_numpy
    found = convert(space.predict(given, ops))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    found = space.probabilities(given, ops)
    if space is SCORE:
        assert found is None
    else:
        found, shares = convert(found), special.softmax(logits, axis=-1)
        np.testing.assert_allclose(found, shares, atol=1e-6)


def test_majority():
    for space, labels, expected in (
        (CLASSES, ["neutral", "contradiction", "neutral"], 1),
        # As many of each: the first.
        (CLASSES, ["contradiction", "entailment"], 0),
        (CHOICE, [3, 2, 3, 0], 3),
        (WEIGHTS, [1.0, 2.0, 4.5], 2.5),
        (SCORE, [1.0, 2.0, 4.5], 2.5),
    ):
        assert space.majority(list(map(example, labels))) == expected


@pytest.mark.parametrize(
    "space, labels, logits, expected",
    [
        # -log softmax of the right one.
        (CLASSES, ["neutral", "entailment"], [[0, 0, 0], [np.log(2), 0, 0]], [np.log(3), np.log(2)]),
        (CHOICE, [1], [[0, 0, 0, 0]], [np.log(4)]),
        # Half of each of two: -(log .2 + log .8) / 2 = -log(.16) / 2.
        (task.ScoreDistribution(0, 1), [0.5], [np.log([0.2, 0.8])], [-np.log(0.4)]),
        # Of 0 to 5 and, in another unit, whose square is 0 in float32.
        (SCORE, [3.0, 1.0], [[5.0], [1.0]], [0.64, 0]),
        (task.Score(1, 5), [3.0], [[5.0]], [1.0]),
        (task.Score(0, 1e-25), [6e-26], [[1e-25]], [0.64]),
    ],
)  # fmt: skip
def test_loss_of_labels_and_logits(space, labels, logits, expected):
    encoded = np.stack([space.encode(example(label)) for label in labels])
    tensors = map(
        keras.ops.convert_to_tensor, (encoded, np.array(logits, "float32"))
    )
    loss = space.loss(*tensors)
    found = keras.ops.convert_to_numpy(loss)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_metrics_of_all_and_of_each_group():
    weather = task.Task(
        name="weather",
        reader=None,
        transform=transforms.classification,
        label_space=task.Classes(("dry", "wet")),
        metric=metrics.f1_and_accuracy,
    )
    of_all = {"f1": 0.5, "accuracy": 0.5}
    of_each = {"f1_b": 2 / 3, "accuracy_b": 2 / 3, "f1_a": 0, "accuracy_a": 0}
    labels = ["wet", "dry", "wet", "dry"]
    of_m = {"f1_m": 0.5, "accuracy_m": 0.5}
    for groups, found_too in ([""] * 4, {}), ("mmmm", of_m), ("bbab", of_each):
        expected = of_all | found_too
        rows = [example(label, group) for label, group in zip(labels, groups)]
        found = weather.measure(rows, np.array([1, 0, 0, 1]))
        assert found == pytest.approx(expected)
        assert list(found) == list(expected)
