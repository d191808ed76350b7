"""Prefixes with all their continuations in one row: the prefix is read once.

    prefix         7 8          branch 0
    continuations  5 | 6 9      branches 1 and 2

    token_ids      7 8 5 6 9 0
    position_ids   0 1 2 2 3 0      each branch goes on behind the prefix
    branch         0 0 1 2 2 -1     -1: padding
    predictor      0 0 1 1 3 0      from where each token is predicted
    token_weights  0 0 1 1 1 0      the tokens that are scored

A token sees the prefix and its own branch (`models.shared_prefix`).
"""

import typing

import numpy as np

# -----------------------------------------------------------------------------
# Texts that go on in several ways, for a language model to compare.


class Continuation(typing.NamedTuple):
    """One way to go on.

    Attributes:
        ids: list of ids that follow the prefix.
        num_context: int. So many of the first of them are only read, not
            scored.
    """

    ids: list
    num_context: int = 0


class Item(typing.NamedTuple):
    """A prefix and its continuations.

    Attributes:
        prefix: list of ids, at least one: the first token of a text has
            nothing before it that could predict it.
        continuations: tuple of `Continuation`.
        num_cut: int, tokens before the prefix that had no room.
    """

    prefix: list
    continuations: tuple
    num_cut: int = 0


class Scores(typing.NamedTuple):
    """What a language model says of an `Item`; arrays `[C]`.

    Attributes:
        log_probability: float64, the sum over the scored tokens.
        num_tokens: int, how many were scored.
        is_likeliest: bool, whether every scored token was the likeliest.
    """

    log_probability: typing.Any
    num_tokens: typing.Any
    is_likeliest: typing.Any


# -----------------------------------------------------------------------------
# Prefixes with all their continuations in one row: the prefix is read once.

NAMES = ("token_ids", "position_ids", "branch", "predictor", "token_weights")


class PackedItems:
    """Items as rows, in the form that `example_batches.ScoredExamples` takes.

    Args:
        items: list of `N` `packing.Item`.
        share_prefix: bool. False gives every continuation a row of its own,
            for networks that cannot branch.

    Attributes:
        lengths: int array `[rows]`, tokens of each row.
        num_branches: int, `K`: the most continuations of a row.
    """

    def __init__(self, items, *, share_prefix=True):
        self._items = items
        self._places = [
            places
            for i, item in enumerate(items)
            for places in _rows_of(i, len(item.continuations), share_prefix)
        ]
        self.num_branches = max(
            (len(places) for places in self._places), default=1
        )
        self.lengths = np.array(
            [self._length(places) for places in self._places], "int64"
        )

    def __len__(self):
        return len(self._places)

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
        shape = (len(rows), length)
        arrays = {name: np.zeros(shape, "int32") for name in NAMES}
        arrays["token_weights"] = np.zeros(shape, "float32")
        arrays["branch"][:] = -1
        for row, place in enumerate(rows):
            self._fill({n: a[row] for n, a in arrays.items()}, place)
        return arrays

    def scores(self, log_probability, num_tokens, num_likeliest):
        """Gather what was computed row by row.

        Args:
            log_probability, num_tokens, num_likeliest: arrays `[rows, K]`,
                sums over the scored tokens of each branch.

        Returns:
            list of `N` `packing.Scores`.
        """
        found = [
            [np.zeros(len(item.continuations)) for _ in range(3)]
            for item in self._items
        ]
        for row, places in enumerate(self._places):
            for k, (i, j) in enumerate(places):
                found[i][0][j] = log_probability[row, k]
                found[i][1][j] = num_tokens[row, k]
                found[i][2][j] = num_likeliest[row, k]
        return [
            Scores(total, np.rint(count).astype("int64"), likeliest >= count)
            for total, count, likeliest in found
        ]

    def _length(self, places):
        item = self._items[places[0][0]]
        return len(item.prefix) + sum(
            len(item.continuations[j].ids) for _, j in places
        )

    def _fill(self, row, place):
        places = self._places[place]
        item = self._items[places[0][0]]
        start = len(item.prefix)
        row["token_ids"][:start] = item.prefix
        row["position_ids"][:start] = np.arange(start)
        row["branch"][:start] = 0
        at = start
        for k, (_, j) in enumerate(places, start=1):
            ids, num_context = item.continuations[j]
            end = at + len(ids)
            row["token_ids"][at:end] = ids
            row["position_ids"][at:end] = start + np.arange(len(ids))
            row["branch"][at:end] = k
            row["predictor"][at:end] = np.arange(at - 1, end - 1)
            if len(ids):
                row["predictor"][at] = start - 1
            row["token_weights"][at + num_context : end] = 1.0
            at = end


def _rows_of(index, count, share_prefix):
    """Return the (item, continuation) pairs of each row of an item."""
    pairs = [(index, j) for j in range(count)]
    return [pairs] if share_prefix else [[pair] for pair in pairs]
