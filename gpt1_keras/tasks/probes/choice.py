"""Probes that choose the continuation with the highest average."""

import numpy as np

from gpt1_keras.evaluation import metrics
from gpt1_keras.tasks.probes import labels
from gpt1_keras.tasks.probes import probe


class ChoiceProbe(probe.Probe):
    """The choice whose scored tokens have the highest mean log-probability.

    The label of an example is the index of the right choice. Groups are also
    measured on their own.
    """

    def measure(self, examples, scores, train=None):
        """Return `accuracy`, and of each group where there are several."""
        targets = labels.labels(self.name, examples)
        predictions = [
            int(np.argmax(s.log_probability / s.num_tokens)) for s in scores
        ]
        return labels.by_group(
            examples,
            lambda pairs: metrics.accuracy(pairs[:, 0], pairs[:, 1]),
            np.stack([targets, predictions], axis=1),  # [N, 2]
        )

    def majority(self, examples):
        """Return the accuracy of the same place always, the best by group."""
        return labels.by_group(
            examples,
            labels.majority_accuracy,
            labels.labels(self.name, examples),
        )
