"""Labelled examples, and what a model predicts for them."""

import dataclasses
import functools
import typing

import keras
import numpy as np

from gpt1_keras import console
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import loaders
from gpt1_keras.data import packing
from gpt1_keras.evaluation import metrics as metrics_lib


def predict(learner, batches, *, name):
    """Return {output: array `[N, ...]`} for all rows, in the original order.

    Batches are `example_batches.ScoredExamples` or `batches.HeldOutBatches`;
    `name` describes the progress bar.
    """
    count = len(batches)
    with console.bar(name, count) as advance:
        progress = keras.callbacks.LambdaCallback(
            on_predict_batch_end=lambda batch, logs: advance(1)
        )
        found = learner.predict(
            loaders.load(batches, first_step=0, num_steps=count),
            verbose=0,
            callbacks=[progress],
        )
    return {key: batches.restore(value) for key, value in found.items()}


@dataclasses.dataclass(eq=False)
class Labelled:
    """Examples of a split of a task, encoded on first use, and their scores."""

    task: typing.Any  # `tasks.task.Task`
    examples: list  # of Example
    _: dataclasses.KW_ONLY
    tokenizer: typing.Any  # `text.tokenizer.Tokenizer`
    max_sequence_length: int
    batch_size: int  # examples per forward pass
    bucket_lengths: tuple  # see `data.example_batches`
    name: str  # for messages
    share_prefix: bool = False  # whether candidates share a row (`packing`)

    @functools.cached_property
    def encoded(self):
        build = examples_lib.EncodedExamples
        if self.share_prefix:
            build = packing.PackedExamples
        return build(
            self.examples,
            tokenizer=self.tokenizer,
            transform=self.task.transform,
            max_sequence_length=self.max_sequence_length,
            name=self.name,
        )

    def __len__(self):
        return len(self.examples)

    def labels(self):
        """Return the labels as the loss takes them, `[N, ...]`."""
        encode = self.task.label_space.encode
        return np.stack([encode(example) for example in self.examples])

    def logits(self, learner):
        """Return the head's logits, float64 `[N, Y]`; see `predict`."""
        batches = example_batches.ScoredExamples(
            self.encoded,
            batch_size=self.batch_size,
            bucket_lengths=self.bucket_lengths,
        )
        return predict(learner, batches, name=self.name)["logits"]

    def measure(self, logits):
        """Return the task's metrics of `logits` `[N, Y]`."""
        predictions = self.task.label_space.predict(logits)
        return self.task.measure(self.examples, predictions)

    def confusion(self, logits):
        """Return `metrics.confusion` for the user's own classes, else {}."""
        space = self.task.label_space
        if not self.task.is_own or not space.class_names:
            return {}
        labels = [space.value(example) for example in self.examples]
        predictions = space.predict(logits)
        return metrics_lib.confusion(labels, predictions, space.class_names)

    def majority(self):
        constant = self.task.label_space.majority(self.examples)
        return self.task.measure(self.examples, [constant] * len(self))
