"""What a benchmark is: reader, transform, head, target and metrics."""

import collections.abc
import dataclasses

import numpy as np

from gpt1_keras.tasks import targets


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
    target: targets.Target
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
