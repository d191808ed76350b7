"""True against predicted labels, as counts and as pictures.

Letters: `N` examples, `Y` classes.
"""

import math
import pathlib
import textwrap

import matplotlib

matplotlib.use("Agg")

import numpy as np  # noqa: E402
from matplotlib import pyplot  # noqa: E402

_LONGEST_WORD = 24  # characters on an axis
_MOST_WRITTEN = 20  # classes whose cells have room for numbers
_MOST_NAMED = 120  # classes whose names have room on an axis
_DARK = 0.6  # share of the row from which on its numbers are white
_CHARACTERS = 11  # per inch of an axis


def count(truth, predictions, num_classes):
    """Count examples by true and predicted class.

    Args:
        truth: int array `[N]`.
        predictions: int array `[N]`.
        num_classes: int, `Y`.

    Returns:
        int array `[Y, Y]`; row: true class, column: predicted class.
    """
    truth = np.asarray(truth, "int64")
    predictions = np.asarray(predictions, "int64")
    cells = np.bincount(
        truth * num_classes + predictions, minlength=num_classes**2
    )
    return cells.reshape(num_classes, num_classes)


def rows(matrix, words):
    """Return the matrix as rows for a table, header first.

    Args:
        matrix: int array `[Y, Y]`, from `count`.
        words: sequence of str, the names of the classes.

    Returns:
        list of `Y + 1` lists: a name (in the header "") and `Y` cells.
    """
    return [
        ["", *words],
        *([word, *row.tolist()] for word, row in zip(words, matrix)),
    ]


def plot(matrix, words, image_path, *, title):
    """Draw the matrix: the darker, the larger the share of the true class.

    Cells hold the count and its share of the row.

    Args:
        matrix: int array `[Y, Y]`, from `count`.
        words: sequence of str, the names of the classes.
        image_path: path of the PNG to write.
        title: str, such as task, split and metric.

    Returns:
        `image_path`.
    """
    matrix = np.asarray(matrix)
    totals = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.maximum(totals, 1)
    num_classes = len(words)
    is_written = num_classes <= _MOST_WRITTEN
    cell = 0.85 if is_written else 0.2  # inches
    side = min(max(3.0, cell * num_classes), 24.0)
    figure, axes = pyplot.subplots(
        figsize=(side + 1.6, side + 1.4), dpi=120, layout="constrained"
    )
    image = axes.imshow(shares, cmap="Greys", vmin=0, vmax=1)
    axes.set_title(textwrap.fill(title, 40), parse_math=False, fontsize=11)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    _name_classes(axes, words, side / num_classes)
    if is_written:
        _write_cells(axes, matrix, shares)
    else:
        figure.colorbar(
            image, ax=axes, shrink=0.5, label="share of the true class"
        )
    return _save(figure, image_path)


def scatter(truth, predictions, image_path, *, title):
    """Draw predicted against true scores.

    Args:
        truth: float array `[N]`.
        predictions: float array `[N]`.
        image_path: path of the PNG to write.
        title: str, such as task, split and metric.

    Returns:
        `image_path`.
    """
    truth, predictions = np.asarray(truth), np.asarray(predictions)
    both = np.concatenate([truth, predictions])
    low, high = (both.min(), both.max()) if len(both) else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5
    limits = (low - margin, high + margin)
    figure, axes = pyplot.subplots(
        figsize=(5, 5), dpi=120, layout="constrained"
    )
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
    return _save(figure, image_path)


def _name_classes(axes, words, cell):
    """Put names beside rows and columns of `cell` inches, lines between."""
    step = math.ceil(len(words) / _MOST_NAMED)
    places = range(0, len(words), step)
    names = [_shorten(words[i]) for i in places]
    size = 10 if len(words) <= _MOST_WRITTEN else 7
    style = {"fontsize": size, "parse_math": False}
    axes.set_yticks(places, names, **style)
    if max(map(len, names)) > _CHARACTERS * cell * step:
        axes.set_xticks(
            places,
            names,
            **style,
            rotation=45,
            horizontalalignment="right",
            rotation_mode="anchor",
        )
    else:
        axes.set_xticks(places, names, **style)
    borders = np.arange(len(words) - 1) + 0.5
    axes.set_xticks(borders, minor=True)
    axes.set_yticks(borders, minor=True)
    axes.grid(True, which="minor", color="0.7", linewidth=0.6)
    axes.tick_params(which="minor", length=0)


def _shorten(word):
    """Cut the middle, as long names often differ at the end."""
    if len(word) <= _LONGEST_WORD:
        return word
    half = (_LONGEST_WORD - 1) // 2
    return f"{word[:half]}…{word[-half:]}"


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


def _save(figure, image_path):
    image_path = pathlib.Path(image_path)
    image_path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image_path)
    pyplot.close(figure)
    return image_path
