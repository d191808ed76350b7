"""What is right, of the examples of a probe, and the best constant guess."""

import collections

import numpy as np

from gpt1_keras import errors


def labels(name, examples):
    """Return the list of labels.

    Raises:
        InputError: an example has none.
    """
    found = [example.label for example in examples]
    if not found or None in found:
        raise errors.InputError(
            f"{name}: {len(found)} examples, {found.count(None)} of them"
            " without a label: take a split with labels, such as dev"
        )
    return found


def by_group(examples, metric, values):
    """Return `metric` of all values, then of each group's.

    Args:
        examples: list of `N` Example.
        metric: function from an array of values to dict.
        values: array `[N, ...]`.

    Returns:
        dict from name to number, `{name}_{group}` for a group where there are
        several.
    """
    values = np.asarray(values)
    found = dict(metric(values))
    groups = np.array([example.group for example in examples])
    # In the order of the examples: RACE's middle before high.
    names = list(dict.fromkeys(groups.tolist()))
    if len(names) > 1:
        for name in names:
            part = metric(values[groups == name])
            found |= {f"{key}_{name}": part[key] for key in part}
    return found


def majority_accuracy(values):
    """Return the accuracy of guessing the commonest of the values always."""
    ((_, count),) = collections.Counter(
        np.asarray(values).tolist()
    ).most_common(1)
    return {"accuracy": count / len(values)}
