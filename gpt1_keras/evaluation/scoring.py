"""Labelled examples of one split and what a model makes of them."""

import copy

import numpy as np

from gpt1_keras import console
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import loaders
from gpt1_keras.training import callbacks


class Labelled:
    """Examples of a task, encoded when first asked for, and their scores.

    Args:
        task: `tasks.task.Task`.
        examples: list of Example.
        tokenizer: `text.tokenizer.Tokenizer`.
        max_sequence_length: int.
        batch_size: int. Examples per forward pass in scoring.
        bucket_lengths: ints (`data.example_batches`).
        name: str, for messages.
    """

    def __init__(
        self,
        task,
        examples,
        *,
        tokenizer,
        max_sequence_length,
        batch_size,
        bucket_lengths,
        name,
    ):
        self.task = task
        self.examples = examples
        self.name = name
        self.tokenizer = tokenizer
        self.max_sequence_length = max_sequence_length
        self._encoded = None
        self._scoring = {
            "batch_size": batch_size,
            "bucket_lengths": bucket_lengths,
        }

    @property
    def encoded(self):
        """`EncodedExamples` of all."""
        if self._encoded is None:
            self._encoded = examples_lib.EncodedExamples(
                self.examples,
                tokenizer=self.tokenizer,
                transform=self.task.transform,
                max_sequence_length=self.max_sequence_length,
                name=self.name,
            )
        return self._encoded

    def part(self, rows, name):
        """Return some of the examples under another name.

        Args:
            rows: ints.
            name: str, for messages.
        """
        found = copy.copy(self)
        found.name = name
        found.examples = [self.examples[row] for row in rows]
        if self._encoded is not None:
            found._encoded = self._encoded.part(rows)
        return found

    def __len__(self):
        return len(self.examples)

    def labels(self):
        """Return the labels as the loss takes them, `[N, ...]`."""
        return np.stack([self.task.target.encode(e) for e in self.examples])

    def logits(self, learner, stop=None):
        """Return the head's logits, float64 `[N, Y]`.

        Args:
            learner: `training.learner.Learner` of a network with a head.
            stop: `fit.StopRequest` that interrupts the work, or None.
        """
        batches = example_batches.ScoredExamples(self.encoded, **self._scoring)
        count = len(batches)
        with console.bar(self.name, count) as advance:
            found = learner.predict(
                loaders.load(batches, first_step=0, num_steps=count),
                verbose=0,
                callbacks=[callbacks.PredictionProgress(advance, stop)],
            )
        return batches.restore(found["logits"])

    def measure(self, logits):
        """Return the task's metrics of `logits` `[N, Y]`."""
        predictions = self.task.target.predict(logits)
        return self.task.measure(self.examples, predictions)

    def majority(self):
        """Return the metrics of the best constant guess."""
        guess = self.task.target.majority(self.examples)
        return self.task.measure(self.examples, [guess] * len(self))
