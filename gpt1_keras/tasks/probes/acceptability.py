"""CoLA: a sentence is acceptable where its words are likely."""

import numpy as np

from gpt1_keras.data import continuations
from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import metrics
from gpt1_keras.tasks.probes import fitting
from gpt1_keras.tasks.probes import labels
from gpt1_keras.tasks.probes import probe

_ACCEPTABLE = glue.BINARY[1]


class Acceptability(probe.Probe):
    """The average token log-probability of a sentence against a threshold.

    The paper states neither whether the first token counts nor how the
    threshold is chosen. Here the first token is only read, as nothing is
    before it that could predict it, and the threshold is the one with the best
    Matthews correlation on the train examples. `auc` needs no threshold: it is
    the chance that an acceptable sentence scores above an unacceptable one.
    """

    name = "cola"
    random = 0.0  # Matthews correlation
    needs_train = True

    def read(self, data_dir, split):
        """See `glue.read_cola`."""
        return glue.read_cola(data_dir, split)

    def item(self, example, *, tokenizer, max_sequence_length):
        """The first token is the prefix; a sentence's end is cut.

        A sentence of one token stands behind `fitting.opening`.
        """
        ids = fitting.encode(example.text, tokenizer)
        if len(ids) == 1:
            ids = [fitting.opening(tokenizer), *ids]
        ids = ids[:max_sequence_length]
        return fitting.fit(
            ids[:1],
            [continuations.Continuation(ids[1:])],
            tokenizer=tokenizer,
            max_sequence_length=max_sequence_length,
        )

    def measure(self, examples, scores, train=None):
        """Return Matthews correlation, accuracy, AUC and what was chosen.

        Returns:
            dict with `matthews`, `accuracy`, `auc`, the `threshold` (nats per
            token) and `matthews_train`, the best on train.

        Raises:
            ValueError: there are no train examples.
        """
        if train is None:
            raise ValueError("the threshold is chosen on train examples")
        train_examples, train_scores = train
        threshold, best = metrics.matthews_threshold(
            self._targets(train_examples), _averages(train_scores)
        )
        targets, averages = self._targets(examples), _averages(scores)
        return {
            **metrics.matthews_and_accuracy(targets, averages >= threshold),
            **metrics.area_under_curve(targets, averages),
            "threshold": threshold,
            "matthews_train": best,
        }

    def majority(self, examples):
        """Return the metrics of the commoner class always."""
        accuracy = labels.majority_accuracy(labels.labels(self.name, examples))
        return {"matthews": 0.0, **accuracy, "auc": 0.5}

    def _targets(self, examples):
        found = labels.labels(self.name, examples)
        return np.array([label == _ACCEPTABLE for label in found], "int64")


def _averages(scores):
    return np.array([s.log_probability[0] / s.num_tokens[0] for s in scores])
