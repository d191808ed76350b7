"""Batches of encoded examples; each is a pure function of the step.

A batch is what `EncodedExamples.batch` returns, in training with `labels`
`[B, ...]`. Sequences of similar length share a batch to reduce padding, and
`T` is one of a few bucket lengths so that few shapes are compiled.
"""

import functools

import numpy as np

from gpt1_keras import errors
from gpt1_keras.data import windows

# The default lengths of padded batches. The largest are for rows of several
# candidates, which can be longer than a network has positions.
BUCKET_LENGTHS = (8, 12, 16, 20, 24, 32, 48, 64, 80, 96, 128, 160, 192)
BUCKET_LENGTHS += (256, 384, 512, 640, 768, 1024)


class TrainingExamples:
    """Endless training batches; call with the number of a step, from 0.

    Every epoch has a new random order; its incomplete last batch is dropped.
    Within pools of `pool_batches` batches, examples are sorted by length; then
    the batches of the epoch are shuffled. A pool of one batch is the paper's
    plain random order. Fewer examples than one batch raise InputError.

    `encoded` is an `EncodedExamples`, `labels` an array `[N, ...]`, and
    `bucket_lengths` has the possible values of `T`; a batch of longer sequences
    is as long as its longest.

    Attributes:
        batch_size, num_examples, steps_per_epoch: int.
        num_cut: int, truncated examples.
        tokens_per_step: float, on average.
        spec: see `batches.spec_of`.
    """

    def __init__(
        self, encoded, labels, *, batch_size, seed, pool_batches, bucket_lengths
    ):
        self._encoded = encoded
        self._labels = np.asarray(labels)
        self._bucket_lengths = bucket_lengths
        self._seed = seed
        self._pool = pool_batches * batch_size
        self._epoch = functools.lru_cache(maxsize=2)(self._draw)
        self.batch_size = batch_size
        self.num_examples = len(self._labels)
        self.num_cut = encoded.num_cut
        self.steps_per_epoch = self.num_examples // batch_size
        if not self.steps_per_epoch:
            raise errors.InputError(
                f"{self.num_examples} training examples do not fill one batch"
                f" of {batch_size}: lower `batch_size`"
            )
        self.tokens_per_step = batch_size * float(encoded.num_tokens.mean())
        shape = (batch_size, *self._labels.shape[1:])
        labels = {"labels": (shape, self._labels.dtype.name)}
        self.spec = encoded.spec(batch_size) | labels

    def order(self, step):
        """Return the indices of the examples of a step, `[B]`."""
        epoch, place = divmod(int(step), self.steps_per_epoch)
        return self._epoch(epoch)[place]

    def _draw(self, epoch):
        """Return the examples of each batch of an epoch, `[steps, B]`."""
        count = self.steps_per_epoch * self.batch_size
        order = windows.shuffled(self.num_examples, self._seed, 2, epoch)
        order = order[:count]
        pool = np.arange(count) // self._pool
        order = order[np.lexsort((self._encoded.lengths[order], pool))]
        # [steps * B] -> [steps, B]
        batches = order.reshape(self.steps_per_epoch, self.batch_size)
        return batches[windows.shuffled(len(batches), self._seed, 3, epoch)]

    def __call__(self, step):
        rows = self.order(step)
        batch = _pad(self._encoded, rows, self._bucket_lengths)
        return {**batch, "labels": self._labels[rows]}


class ScoredExamples:
    """Every example once, for `predict`; call with 0 .. len - 1.

    The longest examples come first, so that a lack of memory shows at once. The
    last batch is padded with copies of its first example. `encoded` is an
    `EncodedExamples` or any object with its `lengths`, `batch` and `spec`.
    """

    def __init__(self, encoded, *, batch_size, bucket_lengths):
        self._encoded = encoded
        self._bucket_lengths = bucket_lengths
        self._order = np.argsort(-encoded.lengths, kind="stable")
        self._batch_size = batch_size
        self.spec = encoded.spec(batch_size)

    def __len__(self):
        return -(-len(self._order) // self._batch_size)

    def __call__(self, step):
        first = int(step) * self._batch_size
        rows = self._order[first : first + self._batch_size]
        missing = self._batch_size - len(rows)
        rows = np.concatenate([rows, np.repeat(rows[:1], missing)])
        return _pad(self._encoded, rows, self._bucket_lengths)

    def restore(self, results):
        """Return the results of all batches `[len * B, ...]` as `[N, ...]`."""
        restored = np.empty((len(self._order), *results.shape[1:]))
        restored[self._order] = results[: len(self._order)]
        return restored


def _pad(encoded, rows, bucket_lengths):
    longest = int(encoded.lengths[rows].max())
    fitting = [length for length in bucket_lengths if length >= longest]
    return encoded.batch(rows, min(fitting, default=longest))
