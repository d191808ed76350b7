"""Plots of predicted against true classes or scores.

Letters: `N` examples, `Y` classes.
"""

import math
import textwrap

import numpy as np
import sklearn.metrics
from matplotlib import figure as figure_lib

from gpt1_keras.evaluation import plots

_LONGEST_NAME = 24  # characters on an axis
_MOST_WRITTEN = 20  # classes whose cells have room for numbers
_MOST_NAMED = 120  # classes whose names have room on an axis
_DARK = 0.6  # share of the row above which numbers are white
_CHARACTERS = 11  # per inch of an axis


def plot(truth, predictions, class_names, image_path, *, title):
    """Draw the confusion matrix; dark cells are large shares of their row.

    A row is a true class, a column a predicted one. Cells hold the count and
    its share of the row.

    Args:
        truth, predictions: int arrays `[N]`.
        class_names: sequence of `Y` str.
        image_path: path of the PNG to write, which is returned.
        title: str, such as task, split and metric.
    """
    num_classes = len(class_names)
    matrix = sklearn.metrics.confusion_matrix(
        truth, predictions, labels=range(num_classes)
    )
    totals = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.maximum(totals, 1)
    is_written = num_classes <= _MOST_WRITTEN
    cell = 0.85 if is_written else 0.2  # inches
    side = min(max(3.0, cell * num_classes), 24.0)
    figure = figure_lib.Figure(
        figsize=(side + 1.6, side + 1.4), dpi=120, layout="constrained"
    )
    axes = figure.subplots()
    image = axes.imshow(shares, cmap="Greys", vmin=0, vmax=1)
    axes.set_title(textwrap.fill(title, 40), parse_math=False, fontsize=11)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    _name_classes(axes, class_names, side / num_classes)
    if is_written:
        _write_cells(axes, matrix, shares)
    else:
        figure.colorbar(
            image, ax=axes, shrink=0.5, label="share of the true class"
        )
    return plots.save(figure, image_path)


def scatter(truth, predictions, image_path, *, title):
    """Draw predicted against true scores `[N]`; return `image_path`."""
    truth, predictions = np.asarray(truth), np.asarray(predictions)
    both = np.concatenate([truth, predictions])
    low, high = (both.min(), both.max()) if len(both) else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5
    limits = (low - margin, high + margin)
    figure = figure_lib.Figure(figsize=(5, 5), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.plot(limits, limits, color="0.6", linewidth=1, linestyle="--")
    # Many points look darker than few.
    alpha = float(np.clip(200 / max(len(truth), 1), 0.1, 0.8))
    axes.scatter(
        truth, predictions, s=12, color="black", alpha=alpha, linewidths=0
    )
    axes.set(xlim=limits, ylim=limits, aspect="equal")
    axes.set_title(textwrap.fill(title, 50), parse_math=False, fontsize=11)
    axes.set_xlabel("true score")
    axes.set_ylabel("predicted score")
    axes.grid(True, linewidth=0.4, alpha=0.5)
    return plots.save(figure, image_path)


def _name_classes(axes, class_names, cell):
    """Label rows and columns of `cell` inches and draw lines between."""
    step = math.ceil(len(class_names) / _MOST_NAMED)
    places = range(0, len(class_names), step)
    names = [_shorten(class_names[i]) for i in places]
    size = 10 if len(class_names) <= _MOST_WRITTEN else 7
    style = {"fontsize": size, "parse_math": False}
    axes.set_yticks(places, names, **style)
    slanted = {}
    if max(map(len, names)) > _CHARACTERS * cell * step:
        slanted = {
            "rotation": 45,
            "horizontalalignment": "right",
            "rotation_mode": "anchor",
        }
    axes.set_xticks(places, names, **style, **slanted)
    borders = np.arange(len(class_names) - 1) + 0.5
    axes.set_xticks(borders, minor=True)
    axes.set_yticks(borders, minor=True)
    axes.grid(True, which="minor", color="0.7", linewidth=0.6)
    axes.tick_params(which="minor", length=0)


def _shorten(name):
    """Leave out the middle, since long names often differ at the end."""
    if len(name) <= _LONGEST_NAME:
        return name
    half = (_LONGEST_NAME - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _write_cells(axes, matrix, shares):
    for (row, column), share in np.ndenumerate(shares):
        axes.text(
            column,
            row,
            f"{matrix[row, column]:,}\n{100 * share:.0f} %",
            color="white" if share > _DARK else "black",
            fontsize=9,
            horizontalalignment="center",
            verticalalignment="center",
        )
