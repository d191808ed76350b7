"""Batches of a prepared corpus as numpy arrays, a pure function of the step.

A batch is a dict (B examples, C candidates each, of T tokens; here C = 1):

    token_ids         int32   [B, C, T]
    token_weights     float32 [B, C, T]   weight of predicting each token
    extract_position  int32   [B, C]      the last token of each sequence
"""

import numpy as np

from gpt1_keras.data import windows


class TrainingBatches:
    """Endless training batches; call with the number of a step, from 0.

    `split` is the `shards.Split` to train on. Attributes: `num_windows`, the
    windows of an epoch, and `spec` (see `spec_of`). In a random share of the
    windows, `repeated_share`, the first T / 4 to T / 2 tokens are repeated to
    the end, which rewards attention to earlier tokens.
    """

    def __init__(
        self, split, *, batch_size, sequence_length, seed, repeated_share=0.0
    ):
        self._split = split
        self._seed = seed
        self._repeated_share = repeated_share
        self._windows = windows.TrainingWindows(
            split.lengths, sequence_length=sequence_length, seed=seed
        )
        self.num_windows = self._windows.num_windows
        self._shape = (batch_size, sequence_length)
        self.spec = spec_of(batch_size, 1, sequence_length)

    def __call__(self, step):
        size, length = self._shape
        numbers = int(step) * size + np.arange(size)
        book, start = self._windows.at(numbers)
        reads = zip(book, start, start + length)
        ids = np.stack([self._split.read(*each) for each in reads])  # [B, T]
        if self._repeated_share:
            ids = self._repeat(ids, numbers)
        weights = np.ones(ids.shape, np.float32)
        weights[:, 0] = 0.0  # nothing precedes the first token
        last = np.full(size, length - 1, np.int32)
        # [B, T] -> [B, C=1, T], [B] -> [B, C=1]
        return as_batch(ids[:, None], weights[:, None], last[:, None])

    def _repeat(self, ids, numbers):
        """Return `[B, T]`, some rows of which repeat their first tokens."""
        length = ids.shape[1]
        drawn = windows.hash_of(self._seed, 2, numbers) / 2.0**64
        longer = windows.hash_of(self._seed, 3, numbers)
        longer %= np.uint64(max(1, length // 4))
        periods = length // 4 + 1 + longer.astype(np.int64)
        periods[drawn >= self._repeated_share] = length
        # [T] modulo [B, 1] -> [B, T]
        columns = np.arange(length) % periods[:, None]
        return np.take_along_axis(ids, columns, axis=1)


class HeldOutBatches:
    """Held-out batches; call with 0 .. len - 1.

    Each token but the first of a book has weight 1 in exactly one window. The
    last batch is padded with rows of weight 0. `options` are `stride` and
    `limit` of `windows.held_out_windows`.
    """

    def __init__(self, split, *, batch_size, sequence_length, **options):
        self._split = split
        self._windows = windows.held_out_windows(
            split.lengths, sequence_length=sequence_length, **options
        )
        self._shape = (batch_size, sequence_length)
        self.spec = spec_of(batch_size, 1, sequence_length)

    def __len__(self):
        return -(-len(self._windows) // self._shape[0])

    def __call__(self, step):
        size = self._shape[0]
        ids = np.zeros(self._shape, np.int32)
        weights = np.zeros(self._shape, np.float32)
        last = np.zeros(size, np.int32)
        first = int(step) * size
        found = self._windows[first : first + size]
        for row, (book, start, first_scored, end) in enumerate(found):
            ids[row, : end - start] = self._split.read(book, start, end)
            weights[row, first_scored - start : end - start] = 1.0
            last[row] = end - start - 1
        # [B, T] -> [B, C=1, T], [B] -> [B, C=1]
        return as_batch(ids[:, None], weights[:, None], last[:, None])

    def restore(self, results):
        """Return the results of all batches, without the rows of padding."""
        return results[: len(self._windows)]


def as_batch(token_ids, token_weights, extract_position):
    """Return the dict of a batch from its arrays or tensors."""
    return {
        "token_ids": token_ids,
        "token_weights": token_weights,
        "extract_position": extract_position,
    }


def spec_of(batch_size, num_candidates, length):
    """Return {name: (shape, dtype)} of a batch; None marks varying lengths."""
    shape = (batch_size, num_candidates, length)
    return as_batch((shape, "int32"), (shape, "float32"), (shape[:2], "int32"))
