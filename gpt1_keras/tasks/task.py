"""What a benchmark is: reader, transform, head, target and metrics."""

import abc
import collections.abc
import dataclasses

import numpy as np
from scipy import special

from gpt1_keras import errors
from gpt1_keras.training import losses

# -----------------------------------------------------------------------------
# What a head's logits stand for: classes, choices or a score.


class Target(abc.ABC):
    """Between labels of examples and logits of a head.

    Attributes:
        num_outputs: int. Logits of the head for each candidate or sum.
        words: tuple of str, the names of classes; () for other targets.
        outputs: tuple of str, what each logit is the weight of; () where
            this depends on the example or there is no such thing.
        score_range: list of the lowest and highest score; None for others.
        loss: function `(labels, logits [N, Y]) -> [N]` of `training.losses`.
    """

    num_outputs = 1
    words = ()
    outputs = ()
    score_range = None
    loss = None

    @abc.abstractmethod
    def encode(self, example):
        """Return the label as the loss takes it."""

    @abc.abstractmethod
    def value(self, example):
        """Return the label as metrics take it."""

    @abc.abstractmethod
    def predict(self, logits):
        """`[N, Y]` -> predictions `[N]`, comparable with `value`."""

    def probabilities(self, logits):
        """`[N, Y]` -> probabilities `[N, Y]`; None for a target without."""
        return special.softmax(np.asarray(logits, "float64"), axis=-1)

    def majority(self, examples):
        """Return the constant that a guess without reading would give."""
        values = [self.value(example) for example in examples]
        return max(sorted(set(values)), key=values.count)

    def word(self, prediction):
        """Return a prediction as people and label files write it."""
        return str(prediction)


class Classes(Target):
    """One of several classes, each with a label word.

    Args:
        words: sequence of str, by class.
    """

    loss = staticmethod(losses.cross_entropy)

    def __init__(self, words):
        self.words = self.outputs = tuple(words)
        self.num_outputs = len(self.words)
        self._indices = {word: i for i, word in enumerate(self.words)}

    def encode(self, example):
        if example.label not in self._indices:
            raise errors.InputError(
                f"label {example.label!r} is none of {', '.join(self.words)}"
            )
        return np.int32(self._indices[example.label])

    def value(self, example):
        return int(self.encode(example))

    def predict(self, logits):
        return np.argmax(logits, axis=-1)

    def word(self, prediction):
        return self.words[int(prediction)]


class Choice(Target):
    """One of an example's own candidates, by its index from 0."""

    loss = staticmethod(losses.cross_entropy)

    def encode(self, example):
        return np.int32(example.label)

    def value(self, example):
        return int(example.label)

    def predict(self, logits):
        return np.argmax(logits, axis=-1)


class ScoreDistribution(Target):
    """A score as weights on the whole numbers `low .. high`.

    The target puts the score's fraction on the number above and the rest on
    the one below, and the prediction is the expected value (Tai et al. 2015,
    section 4.2; encoding as in the released utils.py, lines 25-36):

        2.5 of 0 .. 5   ->   [0, 0, .5, .5, 0, 0]

    Args:
        low: int.
        high: int.
    """

    loss = staticmethod(losses.soft_cross_entropy)

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.score_range = [low, high]
        self.num_outputs = high - low + 1
        self._numbers = np.arange(low, high + 1)
        self.outputs = tuple(map(str, self._numbers))

    def encode(self, example):
        distance = np.abs(self._numbers - _score(self, example))
        return np.maximum(0.0, 1.0 - distance).astype("float32")

    def value(self, example):
        return _score(self, example)

    def predict(self, logits):
        return self.probabilities(logits) @ self._numbers

    def majority(self, examples):
        return float(np.mean([self.value(example) for example in examples]))

    def word(self, prediction):
        return f"{prediction:.3f}"


class Score(Target):
    """A score by regression; predictions are clipped to `low .. high`.

    Args:
        low: float.
        high: float.
    """

    loss = staticmethod(losses.squared_error)

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.score_range = [low, high]

    def encode(self, example):
        return np.float32(_score(self, example))

    def value(self, example):
        return _score(self, example)

    def predict(self, logits):
        return np.clip(np.asarray(logits)[:, 0], self.low, self.high)

    def probabilities(self, logits):
        return None

    def majority(self, examples):
        return float(np.mean([self.value(example) for example in examples]))

    def word(self, prediction):
        return f"{prediction:.3f}"


def _score(target, example):
    score = float(example.label)
    if not target.low <= score <= target.high:
        raise errors.InputError(
            f"score {example.label} is not within {target.low} .. {target.high}"
        )
    return score


# -----------------------------------------------------------------------------
# What a benchmark is: reader, transform, head, target and metrics.


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A benchmark of the paper, or the user's own.

    Attributes:
        name: str, as in the paper's tables: "cola", "race".
        read: function `(data_dir, split) -> list of Example`.
        transform: function of `data.transforms` that turns the ids of an
            example into its candidate sequences.
        build_head: class of `layers.heads`.
        target: object of `tasks.targets`: what the head's logits stand for.
        metrics: tuple of functions `(targets, predictions) -> dict` of
            `evaluation.metrics`. The first key of the first one is the
            metric of the paper, by which the best epoch is chosen.
        is_own: bool. Whether it reads the user's own files, which change.
    """

    name: str
    read: collections.abc.Callable
    transform: collections.abc.Callable
    build_head: type
    target: Target
    metrics: tuple
    is_own: bool = False

    def measure(self, examples, predictions):
        """Score predictions, all together and by group.

        Args:
            examples: list of labelled Example.
            predictions: array `[N]` as `target.predict` returns.

        Returns:
            dict from the metric's name to its value. Where the examples are
            of several groups, also `{metric}_{group}`.
        """
        truth = np.array([self.target.value(e) for e in examples])
        predictions = np.asarray(predictions)
        found = self._measure(truth, predictions)
        groups = np.array([e.group for e in examples])
        names = sorted(set(groups.tolist()))
        if len(names) > 1:
            for name in names:
                part = self._measure(
                    truth[groups == name], predictions[groups == name]
                )
                found |= {f"{key}_{name}": part[key] for key in part}
        return found

    def main_metric(self, metrics):
        """Return the paper's metric of what `measure` returned."""
        return next(iter(metrics.values()))

    def _measure(self, truth, predictions):
        found = {}
        for metric in self.metrics:
            found |= metric(truth, predictions)
        return found
