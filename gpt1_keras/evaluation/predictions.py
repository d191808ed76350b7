"""Predictions of labelled examples: `predictions.tsv`, and plots of them.

The table is a TSV file without quoting, with a row for each example; tabs, line
breaks, control characters and backslashes are escaped (`files.escape_line`).
Its columns, except those that would be empty in all rows:

- `line`: the line of the user's own file on which the row begins; for a
  benchmark, `row`: the position of the example in its split, from 0;
- `label`, `prediction`: class names, indices of choices, or scores;
- `error`: 1 for a wrong class or choice and 0 for the right one; for a score,
  its distance from the label; empty, like `label`, if that is unknown;
- `prediction_probability`, `label_probability`;
- `probability_of_NAME`: one for each class or choice;
- all columns of the user's own file except the label, as given (called
  `given_NAME` if the name is one of the above); for a benchmark `text`,
  `text_pair`, and `choices` as a JSON list.

Letters: `N` examples, `Y` classes, choices or logits of a score.
"""

import json
import math
import textwrap

import numpy as np
from sklearn import metrics

from gpt1_keras import files
from gpt1_keras.evaluation import plots

_LONGEST_NAME = 24  # characters on an axis
_MOST_WRITTEN = 20  # classes whose cells have room for numbers
_CHARACTERS = 11  # per inch of an axis


def table(examples, labels, predictions, probabilities=None, *, names=()):
    """Return rows {column: str}, and their indices, the worst errors first.

    The worst example is the one whose label has the lowest probability, or
    whose score is farthest from its label. Examples without a label come last.

    Args:
        examples: list of `N` Example.
        labels: `N` indices of classes or choices, or scores; None if unknown.
        predictions: array `[N]`: int, or float for scores.
        probabilities: float array `[N, Y]`; None for a regression.
        names: `Y` str, of the probabilities; if empty, their indices from 0.
    """
    rows, badness = [], []
    for i, (example, label) in enumerate(zip(examples, labels, strict=True)):
        shares = [] if probabilities is None else probabilities[i]
        names = names or [str(i) for i in range(len(shares))]
        bad, judged = _judge(label, predictions[i], shares, names)
        place = {"row": i} if example.line is None else {"line": example.line}
        pairs = zip(names, shares)
        judged |= {f"probability_of_{k}": _number(v) for k, v in pairs}
        rows.append(place | judged)
        badness.append(bad)
    own, given = _filled(rows), list(map(_given, examples))
    columns, named = _filled(given), {}
    for column in columns:
        name = column
        while name in own or (name != column and name in columns):
            name = f"given_{name}"
        named[name] = column
    rows = [
        {name: _field(row.get(name)) for name in own}
        | {name: _field(one.get(k)) for name, k in named.items()}
        for row, one in zip(rows, given, strict=True)
    ]
    return rows, np.argsort(np.negative(badness), kind="stable").tolist()


def _filled(rows):
    """Return the columns that are not empty in all rows."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [n for n in names if any(_field(row.get(n)) for row in rows)]


def lines(rows):
    """Return the lines of a table: its columns, then its rows in any order."""
    fields = [list(map(_field, rows[0]))] if rows else []
    fields += [list(row.values()) for row in rows]
    return ["\t".join(map(files.escape_line, row)) + "\n" for row in fields]


def _given(example):
    """Return the columns of a row that are not the model's."""
    if example.given is not None:
        return example.given
    return {
        "text": example.text,
        "text_pair": example.text_pair,
        "choices": list(example.choices) or None,
    }


def _field(value):
    """Return a value of any file as text that can be written."""
    if value is None:
        return ""
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "backslashreplace").decode()


def _judge(label, prediction, shares, names):
    """Return how wrong a prediction is (-inf: unknown), and its columns."""
    is_score = isinstance(prediction, float | np.floating)
    name = _number if is_score else names.__getitem__
    fields = {"label": "", "prediction": name(prediction), "error": ""}
    if not is_score:
        fields["prediction_probability"] = _number(shares[prediction])
        fields["label_probability"] = ""
    if label is None:
        return -math.inf, fields
    fields["label"] = name(label)
    if is_score:
        error = abs(float(prediction) - float(label))
        fields["error"] = _number(error)
        return error, fields
    fields["error"] = _number(prediction != label)
    fields["label_probability"] = _number(shares[label])
    return -shares[label], fields


def _number(value):
    return f"{float(value):.6g}"


@plots.style
def plot_confusion(truth, predictions, class_names, path, *, title):
    """Draw the confusion matrix of int arrays `[N]`; rows are true classes."""
    num_classes = len(class_names)
    labels = range(num_classes)
    counts = metrics.confusion_matrix(truth, predictions, labels=labels)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    is_written = num_classes <= _MOST_WRITTEN
    side = np.clip((0.85 if is_written else 0.2) * num_classes, 3, 24)  # inches
    figure, (axes,) = plots.panels(1, 1, side + 1.6, side + 1.4)
    # Without the middle, since long names often differ at the end.
    half = (_LONGEST_NAME - 1) // 2
    names = [
        f"{name[:half]}…{name[-half:]}" if len(name) > _LONGEST_NAME else name
        for name in class_names
    ]
    is_crowded = max(map(len, names)) > _CHARACTERS * side / num_classes
    display = metrics.ConfusionMatrixDisplay(shares, display_labels=names)
    display.plot(
        include_values=is_written,
        cmap="Greys",
        xticks_rotation="vertical" if is_crowded else "horizontal",
        ax=axes,
        colorbar=not is_written,
        im_kw={"vmin": 0, "vmax": 1},
        text_kw={"fontsize": 9},
    )
    if is_written:
        for place, text in np.ndenumerate(display.text_):
            text.set_text(f"{counts[place]:,}\n{100 * shares[place]:.0f} %")
    else:
        display.im_.colorbar.set_label("share of the true class")
    axes.set(xlabel="predicted", ylabel="true")
    axes.tick_params(labelsize=10 if is_written else 7)
    axes.set_title(textwrap.fill(title, 40), fontsize=11)
    plots.save(figure, path)


@plots.style
def plot_scores(truth, predictions, path, *, title):
    """Draw true against predicted scores `[N]`."""
    figure, (axes,) = plots.panels(1, 1, 5, 5)
    # The more points, the fainter each: many in one place look dark.
    alpha = float(np.clip(200 / len(truth), 0.1, 0.8))
    style = {"s": 12, "color": "black", "alpha": alpha}
    truth = np.asarray(truth)
    display = metrics.PredictionErrorDisplay(y_true=truth, y_pred=predictions)
    display.plot(axes, kind="actual_vs_predicted", scatter_kwargs=style)
    axes.set(xlabel="predicted score", ylabel="true score")
    axes.set_title(textwrap.fill(title, 50), fontsize=11)
    plots.save(figure, path)
