"""Metrics of the benchmarks.

All have one interface: `(targets, predictions) -> dict[str, float]` with
arrays `[N]`, values from -1 or 0 to 1. The first key is the metric of the
paper's tables, the second the other one of GLUE's pair. Where a metric is not
defined (one class or one value everywhere, predictions that are no numbers) it
is 0, as for a guess.
"""

import difflib
import warnings

import numpy as np
import sklearn.metrics
from scipy import stats

# -----------------------------------------------------------------------------
# Metrics of the benchmarks.


def accuracy(targets, predictions):
    """Share of right predictions, of classes or choices."""
    targets, predictions = _arrays(targets, predictions)
    return {"accuracy": float(np.mean(targets == predictions))}


def f1_and_accuracy(targets, predictions):
    """F1 of class 1 among the classes 0 and 1 (MRPC, QQP)."""
    f1 = sklearn.metrics.f1_score(
        *_arrays(targets, predictions), average="binary", zero_division=0.0
    )
    return {"f1": float(f1)} | accuracy(targets, predictions)


def matthews_and_accuracy(targets, predictions):
    """Matthews correlation of the classes 0 and 1 (CoLA)."""
    targets, predictions = _arrays(targets, predictions)
    found = 0.0
    if not (_is_constant(targets) or _is_constant(predictions)):
        found = sklearn.metrics.matthews_corrcoef(targets, predictions)
    return {"matthews": float(found)} | accuracy(targets, predictions)


def pearson_and_spearman(targets, predictions):
    """Correlations of scores and of their ranks (STS-B)."""
    targets, predictions = _arrays(targets, predictions)
    return {
        "pearson": _correlation(stats.pearsonr, targets, predictions),
        "spearman": _correlation(stats.spearmanr, targets, predictions),
    }


def area_under_curve(targets, scores):
    """Area under the ROC curve of scores for the classes 0 and 1.

    The share of pairs of the two classes in which class 1 has the higher
    score; 0.5, as for a guess, where there is one class only.
    """
    targets, scores = _arrays(targets, scores)
    found = 0.5
    if not _is_constant(targets):
        found = sklearn.metrics.roc_auc_score(targets, scores)
    return {"auc": float(found)}


def matthews_threshold(targets, scores):
    """Choose the threshold with the best Matthews correlation.

    Class 1 is predicted where `score >= threshold`. Thresholds lie halfway
    between neighbouring scores, so that rounding moves no example across; of
    equally good ones it is the lowest.

    Args:
        targets: array `[N]` of 0 and 1.
        scores: array `[N]`, finite.

    Returns:
        float, the threshold, and float, the correlation with it. Where none
        is above 0 (as where there is one class), 1 below the lowest score,
        so that class 1 is predicted always, and 0.
    """
    targets, scores = _arrays(targets, scores)
    order = np.argsort(scores, kind="stable")
    scores, ones = scores[order], (targets[order] == 1).astype("int64")
    # Of a threshold below scores[i]: what is predicted 0 are the first i.
    below = np.flatnonzero(scores[1:] > scores[:-1]) + 1
    if not below.size or _is_constant(ones):
        return float(scores[0]) - 1.0, 0.0
    num, num_ones = len(ones), ones.sum()
    false_zeros = np.cumsum(ones)[below - 1]
    true_zeros = below - false_zeros
    true_ones = num_ones - false_zeros
    false_ones = num - below - true_ones
    product = true_ones * true_zeros - false_ones * false_zeros
    scale = np.sqrt(
        np.float64(num_ones) * (num - num_ones) * below * (num - below)
    )
    best = np.argmax(product / scale)
    if product[best] <= 0:
        return float(scores[0]) - 1.0, 0.0
    i = below[best]
    threshold = (scores[i - 1] + scores[i]) / 2
    if not scores[i - 1] < threshold <= scores[i]:
        threshold = scores[i]
    return float(threshold), float(product[best] / scale[best])


def _arrays(targets, predictions):
    targets, predictions = np.asarray(targets), np.asarray(predictions)
    if targets.ndim != 1 or targets.shape != predictions.shape:
        raise ValueError(
            f"targets and predictions [N], got {targets.shape} and"
            f" {predictions.shape}"
        )
    if not targets.size:
        raise ValueError("no predictions")
    return targets, predictions


def _is_constant(values):
    return bool(np.all(values == values[0]))


def _correlation(function, targets, predictions):
    is_finite = np.all(np.isfinite(targets)) and np.all(
        np.isfinite(predictions)
    )
    if not is_finite or _is_constant(targets) or _is_constant(predictions):
        return 0.0
    with warnings.catch_warnings():
        # Nearly constant predictions are warned about, and may give NaN.
        warnings.simplefilter("ignore")
        found = float(function(targets, predictions).statistic)
    return found if np.isfinite(found) else 0.0


# -----------------------------------------------------------------------------
# How far two tokenizers, or two runs of a model, agree.


def agreement_of_ids(expected, found):
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


def agreement_of_numbers(expected, found, is_compared):
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


def agreement_of_classes(probabilities, found, is_compared, *, tie=1e-6):
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
    return agreement_share(is_best, is_compared)


def agreement_share(is_same, is_compared):
    """Return the share of the compared rows that are the same.

    Args:
        is_same: bool array `[N]`.
        is_compared: bool array `[N]`.

    Returns:
        float; 0 where no row is compared.
    """
    compared = np.asarray(is_same, bool)[np.asarray(is_compared, bool)]
    return float(compared.mean()) if compared.size else 0.0
