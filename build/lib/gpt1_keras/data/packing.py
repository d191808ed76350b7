"""Packed candidates: continuations of a shared prefix in one row.

The prefix is computed once. For a prefix and two continuations:

    prefix         7 8          branch 0
    continuations  5 | 6 9      branches 1 and 2

    token_ids      7 8 5 6 9 0
    position_ids   0 1 2 2 3 0      each branch continues the prefix
    branch         0 0 1 2 2 -1     -1: padding
    predictor      0 0 1 1 3 0      the position that predicts each token
    token_weights  0 0 1 1 1 0      the scored tokens

A token sees the prefix and its own branch (`models.shared_prefix`).
"""

import typing

import numpy as np

NAMES = ("token_ids", "position_ids", "branch", "predictor", "token_weights")


class Continuation(typing.NamedTuple):
    """One way to continue a prefix.

    Attributes:
        ids: list of ids.
        num_context: int. This many of the first ids are read, not scored.
    """

    ids: list
    num_context: int = 0


class Candidates(typing.NamedTuple):
    """A shared prefix and the continuations to compare.

    Attributes:
        prefix: list of ids, at least one, because the first token of a text
            is predicted from nothing.
        continuations: tuple of `Continuation`.
        num_cut: int, tokens removed before the prefix by truncation.
    """

    prefix: list
    continuations: tuple
    num_cut: int = 0


class Scores(typing.NamedTuple):
    """A language model's scores of `Candidates`; arrays `[C]`.

    Attributes:
        log_probability: float64, the sum over the scored tokens.
        num_tokens: int, the number of scored tokens.
        is_likeliest: bool, whether every scored token was the likeliest one.
    """

    log_probability: typing.Any
    num_tokens: typing.Any
    is_likeliest: typing.Any


class PackedCandidates:
    """Candidates as rows, in the form that `ScoredExamples` takes.

    Args:
        candidates: list of `N` `Candidates`.
        share_prefix: bool. False gives every continuation a row of its own,
            for networks without branches.

    Attributes:
        lengths: int array `[rows]`, tokens of each row.
        num_branches: int, `K`: the most continuations of a row.
    """

    def __init__(self, candidates, *, share_prefix=True):
        self._candidates = candidates
        # Of each row: which of the candidates, and which continuations.
        self._rows = []
        for i, each in enumerate(candidates):
            numbers = range(len(each.continuations))
            parts = [numbers] if share_prefix else [[j] for j in numbers]
            self._rows += [(i, list(part)) for part in parts]
        self.num_branches = max((len(js) for _, js in self._rows), default=1)
        self.lengths = np.array(
            [
                len(candidates[i].prefix)
                + sum(len(candidates[i].continuations[j].ids) for j in js)
                for i, js in self._rows
            ],
            "int64",
        )

    def __len__(self):
        return len(self._rows)

    def spec(self, batch_size):
        """Name -> (shape, dtype) of the arrays of a batch."""
        return {
            name: (
                (batch_size, None),
                "float32" if name == "token_weights" else "int32",
            )
            for name in NAMES
        }

    def batch(self, rows, length):
        """Return the arrays `[B, T]` of some rows, padded to `length`."""
        arrays = {
            name: np.zeros((len(rows), length), dtype)
            for name, (_, dtype) in self.spec(len(rows)).items()
        }
        arrays["branch"][:] = -1
        for i, row in enumerate(rows):
            self._fill({n: array[i] for n, array in arrays.items()}, row)
        return arrays

    def scores(self, log_probability, num_tokens, num_likeliest):
        """Return the scores of rows as a list of `N` `Scores`.

        The arguments, arrays `[rows, K]`, are sums over the scored tokens of
        each branch.
        """
        # [rows, K, 3]
        sums = np.stack([log_probability, num_tokens, num_likeliest], axis=-1)
        found = [
            np.zeros((len(each.continuations), 3)) for each in self._candidates
        ]
        for (i, js), row in zip(self._rows, sums, strict=True):
            found[i][js] = row[: len(js)]
        return [
            Scores(total, np.rint(count).astype("int64"), likeliest >= count)
            for total, count, likeliest in (each.T for each in found)
        ]

    def _fill(self, arrays, row):
        index, numbers = self._rows[row]
        prefix, continuations, _ = self._candidates[index]
        start = len(prefix)
        arrays["token_ids"][:start] = prefix
        arrays["position_ids"][:start] = np.arange(start)
        arrays["branch"][:start] = 0
        at = start
        for k, j in enumerate(numbers, start=1):
            ids, num_context = continuations[j]
            end = at + len(ids)
            arrays["token_ids"][at:end] = ids
            arrays["position_ids"][at:end] = start + np.arange(len(ids))
            arrays["branch"][at:end] = k
            arrays["predictor"][at:end] = np.arange(at - 1, end - 1)
            if len(ids):
                arrays["predictor"][at] = start - 1
            arrays["token_weights"][at + num_context : end] = 1.0
            at = end
