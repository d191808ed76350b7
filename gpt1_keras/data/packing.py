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

import itertools
import os
import typing

import numpy as np

from gpt1_keras.data import examples

NAMES = ("token_ids", "position_ids", "branch", "predictor", "token_weights")
_flat = itertools.chain.from_iterable


class Candidates(typing.NamedTuple):
    """A shared prefix and the continuations to compare."""

    # Ids, at least one: the first token of a text is predicted from nothing.
    prefix: list
    # Pairs of lists of ids: those only read, and those scored.
    continuations: list
    num_cut: int = 0  # tokens truncated at the beginning of the prefix


class Scores(typing.NamedTuple):
    """A language model's scores of `Candidates`; arrays `[C]`."""

    log_probability: typing.Any  # float64, the sum over the scored tokens
    num_tokens: typing.Any  # int, the number of scored tokens
    is_likeliest: typing.Any  # bool, whether all scored tokens rank first


class PackedCandidates:
    """A list of `N` `Candidates` as rows, in the form of `ScoredExamples`.

    Without `share_prefix`, every continuation has its own row, for networks
    that cannot share prefixes.

    Attributes:
        lengths: int array `[rows]`, tokens of each row.
        num_branches: int, `K`: the largest number of continuations in a row.
    """

    def __init__(self, candidates, *, share_prefix=True):
        self._candidates = self._rows = candidates
        if not share_prefix:
            self._rows = [
                Candidates(each.prefix, [continuation])
                for each in candidates
                for continuation in each.continuations
            ]
        self._counts = np.array([len(row.continuations) for row in self._rows])
        self.num_branches = int(self._counts.max())
        parts = ([row.prefix, *_flat(row.continuations)] for row in self._rows)
        self.lengths = np.array([sum(map(len, each)) for each in parts])

    def spec(self, batch_size):
        return _spec(batch_size)

    def batch(self, rows, length):
        """Return the arrays `[B, T]` of some rows, padded to `length`."""
        arrays = _empty(len(rows), length)
        for i, row in enumerate(rows):
            prefix, continuations, _ = self._rows[row]
            branches = [before + scored for before, scored in continuations]
            ends = _place(arrays, i, prefix, branches)
            for (_, scored), end in zip(continuations, ends):
                arrays["token_weights"][i, end - len(scored) : end] = 1.0
        return arrays

    def scores(self, found):
        """Return the scores of rows as a list of `N` `Scores`.

        `found` are the arrays `[rows, K]` of `losses.BranchScores`: sums over
        the scored tokens of each branch, whose `weight` is their number.
        """
        names = ("log_probability", "weight", "num_likeliest")
        sums = np.stack([found[name] for name in names], dtype="float64")
        # [3, rows, K] -> [3, continuations]: the rows have all continuations in
        # order; the rest is padding.
        sums = sums[:, np.arange(sums.shape[2]) < self._counts[:, None]]
        ends = np.cumsum([len(each.continuations) for each in self._candidates])
        return [
            Scores(total, np.rint(count).astype("int64"), likeliest >= count)
            for total, count, likeliest in np.split(sums, ends[:-1], axis=1)
        ]


class PackedExamples(examples.EncodedExamples):
    """`EncodedExamples` whose candidates share a row, with the same arguments.

    The longest common prefix of the candidates is stored once. A token of a
    candidate with `n` predicted tokens has weight `1 / (C n)`; a token of the
    prefix has the sum of these over all candidates. So the weights of an
    example add up to 1, as in `losses.LanguageModelLoss`. `lengths` and
    `num_tokens` are both the tokens of each row.
    """

    def spec(self, batch_size):
        shape = (batch_size, self.num_candidates)
        return _spec(batch_size) | {"extract_position": (shape, "int32")}

    def batch(self, rows, length):
        """Return `[B, T]` arrays and `extract_position` `[B, C]`."""
        arrays = _empty(len(rows), length)
        extract = np.zeros((len(rows), self.num_candidates), "int32")
        for i, row in enumerate(rows):
            prefix, branches = _split(self.candidates(row))
            ends = _place(arrays, i, prefix, branches)
            extract[i] = np.subtract(ends, 1)
            weights = arrays["token_weights"][i]
            for ids, end in zip(branches, ends):
                num_predicted = len(prefix) + len(ids) - 1
                share = 1.0 / (len(branches) * num_predicted)
                weights[1 : len(prefix)] += share
                weights[end - len(ids) : end] = share
        return {**arrays, "extract_position": extract}

    def _sizes(self, index):
        candidates, num_cut = self._sequences(index)
        prefix, branches = _split(candidates)
        length = len(prefix) + sum(map(len, branches))
        return length, length, len(candidates), num_cut


def _split(candidates):
    """Return the common prefix of lists, and the rest (not empty) of each."""
    start = len(os.path.commonprefix(candidates))
    start = min(start, min(map(len, candidates)) - 1)
    return candidates[0][:start], [ids[start:] for ids in candidates]


def _spec(batch_size):
    shape = (batch_size, None)
    spec = dict.fromkeys(NAMES, (shape, "int32"))
    return spec | {"token_weights": (shape, "float32")}


def _empty(batch_size, length):
    arrays = {
        name: np.zeros((batch_size, length), dtype)
        for name, (_, dtype) in _spec(batch_size).items()
    }
    arrays["branch"][:] = -1
    return arrays


def _place(arrays, row, prefix, branches):
    """Write a prefix and its branches into a row; return where each ends."""
    token_ids, position_ids, branch, predictor, _ = (
        arrays[name][row] for name in NAMES
    )
    start = len(prefix)
    sizes = np.array([start, *map(len, branches)])
    ends = np.cumsum(sizes)
    first, place = ends - sizes, np.arange(ends[-1])
    token_ids[place] = [*prefix, *_flat(branches)]
    # A branch starts where the prefix ends.
    position_ids[place] = place - np.repeat(np.maximum(first - start, 0), sizes)
    branch[place] = np.repeat(np.arange(len(sizes)), sizes)
    predictor[place[1:]] = place[:-1]
    predictor[first[1:][sizes[1:] > 0]] = start - 1
    return ends[1:]
