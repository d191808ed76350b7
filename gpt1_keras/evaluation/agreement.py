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
        that differs those tokens count that stand in both, in order, as a
        share of the longer of its two sequences.
    """
    same_texts = same_tokens = num_tokens = 0
    for ids, others in zip(expected, found, strict=True):
        num_tokens += max(len(ids), len(others))
        if ids == others:
            same_texts += 1
            same_tokens += len(ids)
        else:
            matcher = difflib.SequenceMatcher(None, ids, others, autojunk=False)
            same_tokens += sum(b.size for b in matcher.get_matching_blocks())
    return {
        "identical_texts": same_texts / max(1, len(expected)),
        "identical_tokens": same_tokens / max(1, num_tokens),
    }


def of_numbers(expected, found, is_compared):
    """Return the largest difference, of the rows that are compared.

    Args:
        expected: array `[N, ...]`.
        found: array `[N, ...]`.
        is_compared: bool array `[N]`.

    Returns:
        float; infinite where no row is compared, so that nothing can look
        equal that was never looked at.
    """
    expected, found = np.asarray(expected), np.asarray(found)
    difference = np.abs(expected - found)[np.asarray(is_compared, bool)]
    return float(difference.max()) if difference.size else float("inf")


def of_classes(probabilities, found, is_compared, *, tie=1e-6):
    """Return the share of rows with the likeliest class.

    Args:
        probabilities: array `[N, Y]`, of the model.
        found: int array `[N]`, the classes from elsewhere; -1 is none.
        is_compared: bool array `[N]`.
        tie: float. A class as likely as the best one but for so much counts,
            too: float32 cannot tell them apart.

    Returns:
        float; 0 where no row is compared.
    """
    probabilities, found = np.asarray(probabilities), np.asarray(found)
    is_class = (found >= 0) & (found < probabilities.shape[-1])
    chosen = probabilities[np.arange(len(found)), np.where(is_class, found, 0)]
    is_best = is_class & (chosen >= probabilities.max(axis=-1) - tie)
    return share(is_best, is_compared)


def share(is_same, is_compared):
    """Return the share of the compared rows that are the same.

    Args:
        is_same: bool array `[N]`.
        is_compared: bool array `[N]`.

    Returns:
        float; 0 where no row is compared.
    """
    compared = np.asarray(is_same, bool)[np.asarray(is_compared, bool)]
    return float(compared.mean()) if compared.size else 0.0
