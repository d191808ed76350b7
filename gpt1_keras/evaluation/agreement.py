"""How far two tokenizers, or two runs of a model, agree."""

import difflib

import numpy as np


def of_ids(expected, found):
    """Compare sequences of ids, text by text.

    Args:
        expected: list of lists of ids.
        found: the same texts' ids from elsewhere.

    Returns:
        dict of `identical_texts` and `identical_tokens`, shares; of a text
        that differs those tokens count that stand in both, in order.
    """
    same_texts = same_tokens = 0
    for ids, others in zip(expected, found, strict=True):
        if ids == others:
            same_texts += 1
            same_tokens += len(ids)
        else:
            matcher = difflib.SequenceMatcher(None, ids, others, autojunk=False)
            same_tokens += sum(b.size for b in matcher.get_matching_blocks())
    return {
        "identical_texts": same_texts / max(1, len(expected)),
        "identical_tokens": same_tokens / max(1, sum(map(len, expected))),
    }


def of_numbers(expected, found, is_compared):
    """Return the largest difference, of the rows that are compared.

    Args:
        expected: array `[N, ...]`.
        found: array `[N, ...]`.
        is_compared: bool array `[N]`.
    """
    expected, found = np.asarray(expected), np.asarray(found)
    difference = np.abs(expected - found)[np.asarray(is_compared)]
    return float(difference.max(initial=0.0))
