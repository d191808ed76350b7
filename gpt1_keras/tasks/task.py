"""What a task is: reader, transform, head, label space and metrics.

A label space gives meaning to the logits of a head: a class, a choice or a
score. Evaluation, demo and serving turn logits into answers here.
"""

import abc
import collections.abc
import dataclasses
import functools
import pathlib

import numpy as np
from absl import logging

from gpt1_keras import errors
from gpt1_keras.evaluation import metrics as metrics_lib
from gpt1_keras.layers import heads
from gpt1_keras.training import losses

# A folder with this file holds generated sample data of any size.
_SAMPLE_MARK = "sample_benchmarks.json"


class LabelSpace(abc.ABC):
    """The labels of a task and the logits of its head.

    Methods on logits take `ops`: `numpy`, or `keras.ops` inside a graph.
    """

    num_outputs = 1  # `Y`: logits for each example (or candidate)
    class_names = ()  # of str; empty unless there are classes
    output_names = ()  # str for each logit; () for choices and a regression
    score_range = None  # list of the lowest and the highest score, for scores
    loss = staticmethod(losses.cross_entropy)  # (labels, logits [N, Y]) -> [N]
    build_head = heads.SumHead  # or another class of `layers.heads`

    def encode(self, example):
        """Return the example's label in the form that the loss takes."""
        return np.int32(self.value(example))

    @abc.abstractmethod
    def value(self, example):
        """Return the example's label in the form that metrics take."""

    def predict(self, logits, ops=np):
        """`[N, Y]` -> predictions `[N]`, comparable with `value`."""
        return ops.argmax(logits, axis=-1)

    def probabilities(self, logits, ops=np):
        """`[N, Y]` -> probabilities `[N, Y]`; None for a regression."""
        weights = ops.exp(logits - ops.max(logits, axis=-1, keepdims=True))
        return weights / ops.sum(weights, axis=-1, keepdims=True)

    def majority(self, examples):
        """Return a constant prediction: the commonest value or the mean."""
        values, counts = np.unique(
            [self.value(example) for example in examples], return_counts=True
        )
        return values[counts.argmax()].item()

    def format(self, prediction):
        """Return a prediction as a label in the files of the task."""
        return str(prediction)


class Classes(LabelSpace):
    """One of several classes, by its name.

    `class_weights` is a float for each class, or None (`losses.cross_entropy`).
    """

    def __init__(self, class_names, class_weights=None):
        self.class_names = self.output_names = tuple(class_names)
        self.num_outputs = len(self.class_names)
        if class_weights is not None:
            self.loss = functools.partial(
                losses.cross_entropy,
                class_weights=tuple(map(float, class_weights)),
            )

    def value(self, example):
        return self.class_names.index(example.label)

    def format(self, prediction):
        return self.class_names[int(prediction)]


class Choice(LabelSpace):
    """One of an example's own candidates, by its index from 0."""

    build_head = heads.ChoiceHead

    def value(self, example):
        return int(example.label)


class Score(LabelSpace):
    """A score by regression; predictions are clipped to `low .. high`.

    The unit of the scores makes no difference to training.
    """

    def __init__(self, low, high):
        self.score_range = [low, high]

    def build_head(self, **settings):
        return heads.SumHead(score_range=self.score_range, **settings)

    def loss(self, labels, logits):
        half = (self.score_range[1] - self.score_range[0]) / 2
        return losses.squared_error(labels / half, logits / half)

    def encode(self, example):
        return np.float32(self.value(example))

    def value(self, example):
        return float(example.label)

    def predict(self, logits, ops=np):
        return ops.clip(logits[:, 0], *self.score_range)

    def probabilities(self, logits, ops=np):
        return None

    def majority(self, examples):
        return float(np.mean([self.value(example) for example in examples]))

    def format(self, prediction):
        return f"{prediction:.3f}"


class ScoreDistribution(Score):
    """A score as a distribution over the whole numbers `low .. high`.

    A label's weight is split between the two numbers next to it; the prediction
    is the expected value (Tai et al. 2015, section 4.2; encoding as in the
    released utils.py, lines 25-36):

        2.5 of 0 .. 5   ->   [0, 0, .5, .5, 0, 0]
    """

    loss = staticmethod(losses.soft_cross_entropy)
    build_head = heads.SumHead
    probabilities = LabelSpace.probabilities

    def __init__(self, low, high):
        super().__init__(low, high)
        self._numbers = np.arange(low, high + 1, dtype="float32")
        self.num_outputs = len(self._numbers)
        self.output_names = tuple(map(str, range(low, high + 1)))

    def encode(self, example):
        distance = np.abs(self._numbers - self.value(example))
        return np.maximum(0.0, 1.0 - distance).astype("float32")

    def predict(self, logits, ops=np):
        weights = self.probabilities(logits, ops)
        return ops.sum(weights * self._numbers, axis=-1)


def label_space_of(preprocessor):
    """Return the `LabelSpace` of a preset's `GPT1TaskPreprocessor`."""
    if preprocessor.score_range is None:
        names = preprocessor.label_words
        return Classes(names) if names else Choice()
    if preprocessor.is_regression:
        return Score(*preprocessor.score_range)
    return ScoreDistribution(*map(int, preprocessor.score_range))


@dataclasses.dataclass(frozen=True)
class Task:
    """A benchmark of the paper, or the user's own."""

    name: str  # as in the paper's tables: "cola", "race"
    reader: collections.abc.Callable  # (data_dir, split) -> list of Example
    transform: collections.abc.Callable  # of `data.transforms`
    label_space: LabelSpace
    # Of `evaluation.metrics`; its first value, the paper's, selects the epoch.
    metric: collections.abc.Callable
    # Official numbers of train, dev and test examples (0: no split); None: any.
    row_counts: tuple | None = None
    is_own: bool = False  # whether it reads the user's files, which may change
    has_labelled_test: bool = False  # whether the labels of test are public
    # The user's rows that cannot be used, filled by `readers.custom.read_rows`.
    skipped: list | None = None
    main_metric: str | None = None  # key of `metric` to select the epoch by
    # What the classes "0", "1" ... mean; () if their names say it.
    class_meanings: tuple = ()

    def read(self, data_dir, split):
        """Return the examples of a split; warn of an unofficial number."""
        if self.row_counts is None:
            return self.reader(data_dir, split)
        counts = dict(zip(("train", "dev", "test"), self.row_counts))
        if not counts[split]:
            known = " and ".join(name for name in counts if counts[name])
            problem = f"{self.name} has no split {split!r}, only {known}"
            raise errors.InputError(f"{problem}: change the split or the task")
        examples = self.reader(data_dir, split)
        is_sample = pathlib.Path(data_dir, _SAMPLE_MARK).exists()
        if len(examples) != counts[split] and not is_sample:
            logging.warning(
                f"{data_dir}: {len(examples)} {split} examples of {self.name},"
                f" the official files have {counts[split]}"
            )
        return examples

    def measure(self, examples, predictions):
        """Return metrics of predictions `[N]`: for all, and for each group."""
        values = [self.label_space.value(example) for example in examples]
        found = metrics_lib.by_group(self.metric, examples, values, predictions)
        first = self.main_metric or next(iter(found))
        return {first: found[first]} | found
