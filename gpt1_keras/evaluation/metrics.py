"""Metrics of the benchmarks, and agreement between two computations.

All metrics have one interface: `(targets, predictions) -> dict[str, float]`
with arrays `[N]`; values are from -1 or 0 to 1. The first key is the metric of
the paper's tables, the second is GLUE's other metric for the task. Where a
metric is undefined (a single class or value, predictions that are not finite),
it is 0, as for a constant prediction.
"""

import difflib
import warnings

import numpy as np
import sklearn.metrics
from scipy import stats


def by_group(metric, examples, *arguments):
    """Return `metric` of all examples, and `{name}_{group}` of each group."""
    arrays = list(map(np.asarray, arguments))
    found = dict(metric(*arrays))
    groups = np.array([example.group for example in examples])
    names = dict.fromkeys(groups.tolist())
    for name in filter(None, names):
        part = metric(*(array[groups == name] for array in arrays))
        found |= {f"{key}_{name}": value for key, value in part.items()}
    return found


def accuracy(targets, predictions):
    """Return the share of correct predictions of classes or choices."""
    return {"accuracy": float(np.mean(np.equal(targets, predictions)))}


def f1_and_accuracy(targets, predictions):
    """Return the F1 of class 1 (of 0 and 1) and the accuracy (MRPC, QQP)."""
    f1 = sklearn.metrics.f1_score(targets, predictions, zero_division=0.0)
    return {"f1": float(f1)} | accuracy(targets, predictions)


def accuracy_and_macro_f1(targets, predictions):
    """Return the accuracy, and the mean F1 of all classes that occur."""
    f1 = sklearn.metrics.f1_score(
        targets, predictions, average="macro", zero_division=0.0
    )
    return accuracy(targets, predictions) | {"macro_f1": float(f1)}


def confusion(targets, predictions, class_names):
    """Return confusion matrix and scores of each class for arrays `[N]`.

    `confusion` is a list `[Y, Y]` of counts (rows are labels, columns
    predictions), `classes` is {name: dict of precision, recall, F1 and support,
    the number of labels}.
    """
    pair = (targets, predictions)
    labels = range(len(class_names))
    counts = sklearn.metrics.confusion_matrix(*pair, labels=labels)
    scores = sklearn.metrics.precision_recall_fscore_support(
        *pair, labels=labels, zero_division=0.0
    )
    columns = [each.tolist() for each in scores]
    names = ("precision", "recall", "f1", "support")
    return {
        "confusion": counts.tolist(),
        "classes": {
            name: dict(zip(names, values))
            for name, *values in zip(class_names, *columns)
        },
    }


def matthews_and_accuracy(targets, predictions):
    """Return Matthews correlation (of classes 0, 1) and accuracy (CoLA)."""
    pair, found = (targets, predictions), 0.0
    if not any(map(_is_constant, pair)):
        found = sklearn.metrics.matthews_corrcoef(*pair)
    return {"matthews": float(found)} | accuracy(*pair)


def pearson_and_spearman(targets, predictions):
    """Return the correlations of scores and of their ranks (STS-B)."""
    pair = (targets, predictions)
    found = {"pearson": 0.0, "spearman": 0.0}
    if np.isfinite(pair).all() and not any(map(_is_constant, pair)):
        with warnings.catch_warnings():
            # Nearly constant predictions cause a warning and may yield NaN.
            warnings.simplefilter("ignore")
            found["pearson"] = stats.pearsonr(*pair).statistic
            found["spearman"] = stats.spearmanr(*pair).statistic
    return {name: float(np.nan_to_num(value)) for name, value in found.items()}


def area_under_curve(targets, scores):
    """Return the area under the ROC curve; 0.5 if all targets are equal."""
    found = 0.5
    if not _is_constant(targets):
        found = sklearn.metrics.roc_auc_score(targets, scores)
    return {"auc": float(found)}


def matthews_threshold(targets, scores):
    """Choose the threshold with the highest Matthews correlation.

    Class 1 (not 0) is predicted where `score >= threshold`. Thresholds lie
    halfway between neighbouring scores, so that rounding moves no example
    across; of equally good ones the lowest is chosen.

    Returns:
        the threshold and its correlation, floats. If none is above 0 (as with a
        single class), the threshold is 1 below the lowest score, so that class
        1 is always predicted, and the correlation 0.
    """
    none = float(np.min(scores)) - 1.0, 0.0
    if _is_constant(targets) or _is_constant(scores):
        return none
    found = sklearn.metrics.confusion_matrix_at_thresholds(targets, scores)
    *counts, scores = (each[::-1] for each in found)  # the lowest first
    # Not the lowest score: as a threshold, it predicts class 1 for all.
    tn, fp, fn, tp = (each[1:] for each in counts)
    covariance = tp * tn - fp * fn
    scale = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    # Rounded, so that equally good ones are equal.
    best = np.argmax(np.round(covariance / scale, 12))
    if covariance[best] <= 0:
        return none
    low, high = scores[best : best + 2]
    threshold = (low + high) / 2
    if not low < threshold <= high:
        threshold = high
    return float(threshold), float(covariance[best] / scale[best])


def _is_constant(values):
    return np.unique(values).size == 1


def agreement_of_ids(expected, found):
    """Compare the token ids of the same texts from two tokenizers.

    Returns the shares `identical_texts` and `identical_tokens`. In a text that
    differs, the tokens of the common subsequence count as identical, out of the
    longer of its two sequences.
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
