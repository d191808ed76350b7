"""Batches of a prepared corpus as numpy arrays, a pure function of the step.

A batch is a dict (B sequences of C = 1 candidate of T tokens):

    token_ids         int32   [B, 1, T]
    token_weights     float32 [B, 1, T]   weight of predicting each token
    extract_position  int32   [B, 1]      the last token of each sequence
"""

import numpy as np

from gpt1_keras.data import windows


class _Batches:
    """What training and held-out batches share.

    Attributes:
        batch_size: int, B.
        sequence_length: int, T.
        spec: dict from name to (shape, dtype) of the arrays.
    """

    def __init__(self, split, batch_size, sequence_length):
        self._split = split
        self.batch_size = batch_size
        self.sequence_length = sequence_length
        shape = (batch_size, 1, sequence_length)
        self.spec = {
            "token_ids": (shape, "int32"),
            "token_weights": (shape, "float32"),
            "extract_position": (shape[:2], "int32"),
        }


class TrainingBatches(_Batches):
    """Endless training batches: call with a step, from 0.

    Args:
        split: shards.Split to train on.
        batch_size: int, B.
        sequence_length: int, T.
        seed: int, the order of the data.

    Attributes:
        num_windows: int, windows of an epoch.
    """

    def __init__(self, split, *, batch_size, sequence_length, seed):
        super().__init__(split, batch_size, sequence_length)
        self._windows = windows.TrainingWindows(
            split.lengths, sequence_length=sequence_length, seed=seed
        )
        self.num_windows = self._windows.num_windows

    def __call__(self, step):
        """Return the batch of `step`."""
        book, start = self._windows.batch(int(step), self.batch_size)
        ids = self._split.gather(book, start, self.sequence_length)  # [B, T]
        weights = np.ones(ids.shape, np.float32)
        weights[:, 0] = 0.0  # nothing precedes the first token
        last = np.full(len(ids), self.sequence_length - 1, np.int32)
        return as_batch(ids, weights, last)


class HeldOutBatches(_Batches):
    """Held-out batches: `len` of them; call with 0 .. len-1.

    Each token but the first of a book has weight 1 in exactly one window. The
    last batch is padded with rows of weight 0.

    Args:
        split: shards.Split to score.
        batch_size: int, B.
        sequence_length: int, T.
        stride: int, tokens from window to window.
        limit: int. About how many tokens to score, at the beginnings of all
            books; None: all.

    Attributes:
        num_scored: int, tokens of weight 1 in all batches.
    """

    def __init__(
        self, split, *, batch_size, sequence_length, stride, limit=None
    ):
        super().__init__(split, batch_size, sequence_length)
        self._windows = windows.held_out_windows(
            split.lengths,
            sequence_length=sequence_length,
            stride=stride,
            limit=limit,
        )
        self.num_scored = self._windows.num_scored

    def __len__(self):
        return -(-len(self._windows) // self.batch_size)

    def __call__(self, step):
        """Return the batch of `step`."""
        if not 0 <= step < len(self):
            raise IndexError(f"step {step} of {len(self)} batches")
        shape = (self.batch_size, self.sequence_length)
        ids = np.zeros(shape, np.int32)
        weights = np.zeros(shape, np.float32)
        last = np.zeros(self.batch_size, np.int32)
        first = int(step) * self.batch_size
        for row in range(min(self.batch_size, len(self._windows) - first)):
            start = self._windows.start[first + row]
            scored = self._windows.first_scored[first + row] - start
            count = self._windows.end[first + row] - start
            ids[row, :count] = self._split.read(
                self._windows.book[first + row], start, start + count
            )
            weights[row, scored:count] = 1.0
            last[row] = count - 1
        return as_batch(ids, weights, last)


def as_batch(ids, weights, last):
    """Return the batch of one candidate per sequence.

    Args:
        ids, weights: arrays or tensors `[B, T]`.
        last: array or tensor `[B]`.
    """
    return {
        "token_ids": ids[:, None, :],  # [B, T] -> [B, C=1, T]
        "token_weights": weights[:, None, :],
        "extract_position": last[:, None],  # [B] -> [B, C=1]
    }
