"""Plots: curves of runs, and predicted against true classes and scores.

All are legible on a phone and in grey. Letters: `N` examples, `Y` classes.
"""

import math
import pathlib
import statistics
import textwrap
import typing

import numpy as np
from matplotlib import figure as figure_lib
from matplotlib import lines as mpl_lines
from matplotlib import ticker

# Dark to light, with a marker each: either one tells the curves apart.
_COLOURS = ("black", "#a50f15", "#3182bd", "#e6a100", "#41ab5d", "#807dba")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_CURVE = {"markersize": 4, "linewidth": 1.3}
# Kind of a curve -> its line, in the order of a legend.
_LINES = {
    "Transformer": {"linestyle": "-"},
    "LSTM": {"linestyle": "--"},
    "unknown network": {"linestyle": ":"},
    "dev": {"linestyle": "-"},
    "train": {"linestyle": "--"},
    "sample of train": {"linestyle": "--"},
    "training batches": {"linewidth": 0.8, "alpha": 0.35, "marker": ""},
}
BACKBONES = {
    "transformer": "Transformer",
    "lstm": "LSTM",
    None: "unknown network",
}
_COLUMNS = 2  # more are too small on a phone
_LONGEST_NAME = 24  # characters on an axis
_MOST_WRITTEN = 20  # classes whose cells have room for numbers
_MOST_NAMED = 120  # classes whose names have room on an axis
_DARK = 0.6  # share of the row above which numbers are white
_CHARACTERS = 11  # per inch of an axis


class Point(typing.NamedTuple):
    """A point of a curve, alone or one of several (seeds) of the same `x`.

    `name` gives the curve a colour and marker, `kind` a line (`_LINES`). It
    runs through the mean of `y`, in a band from `lowest` to `highest`.
    """

    name: str
    kind: str
    x: float
    y: float
    lowest: float | None = None  # None: `y`
    highest: float | None = None
    panel: str = ""  # title of its axes


def draw_curves(points, path, *, y_label, format_axes):
    """Draw `Point`s as a PNG with a panel for each title; return `path`.

    `format_axes` is a function of each panel's `Axes`, called after drawing.
    """
    panels, styles, kinds = {}, {}, set()
    for point in points:
        curves = panels.setdefault(point.panel, {})
        curve = curves.setdefault((point.name, point.kind), {})
        curve.setdefault(point.x, []).append(point)
        kinds.add(point.kind)
        style = {
            "color": _COLOURS[len(styles) % len(_COLOURS)],
            "marker": _MARKERS[len(styles) % len(_MARKERS)],
        }
        styles.setdefault(point.name, _CURVE | style)
    columns = min(len(panels), _COLUMNS)
    num_rows = math.ceil(len(panels) / columns)
    width, height = (6.4, 4.0) if len(panels) == 1 else (2.9, 2.1)
    figure = figure_lib.Figure(
        figsize=(width * columns, height * num_rows),
        dpi=150,
        layout="constrained",
    )
    grid = figure.subplots(num_rows, columns, squeeze=False).flat
    for axes in grid[len(panels) :]:
        axes.remove()
    for i, (axes, (title, curves)) in enumerate(zip(grid, panels.items())):
        for (name, kind), curve in curves.items():
            _draw_curve(axes, curve, styles[name] | _LINES[kind])
        axes.set_title(title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
        format_axes(axes)
        axes.tick_params(labelsize=8)
        if i % columns == 0:
            axes.set_ylabel(y_label, fontsize=8)
        is_last = i + columns >= len(panels)
        axes.set_xlabel(axes.get_xlabel() if is_last else "", fontsize=8)
    shown = styles | {
        kind: {"color": "0.3"} | line
        for kind, line in _LINES.items()
        if kind in kinds
    }
    figure.legend(
        handles=[
            mpl_lines.Line2D([], [], label=label, **style)
            for label, style in shown.items()
        ],
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=2,
        frameon=False,
        fontsize=9,
    )
    return save(figure, path, bbox_inches="tight")


def _draw_curve(axes, curve, style):
    steps = sorted(curve)
    means = [statistics.fmean(p.y for p in curve[x]) for x in steps]
    axes.plot(steps, means, **style)
    low, high = (
        [choose(p.y if p[i] is None else p[i] for p in curve[x]) for x in steps]
        for i, choose in ((4, min), (5, max))
    )
    if low != high:
        axes.fill_between(
            steps, low, high, color=style["color"], alpha=0.15, linewidth=0
        )


def format_log_steps(axes):
    """Make the x axis count steps, as 500, 1k, 2k, 5k."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    # 1, 2 and 5 of each decade fit on the axis; of many decades only 1 does.
    subs = (1, 2, 5) if high / low < 3000 else (1,)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=subs))
    _count_steps(axes)


def format_linear_steps(axes):
    """The same from 0, where epochs are compared."""
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(4, integer=True))
    _count_steps(axes)


def _count_steps(axes):
    axes.set_xlabel("steps")
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def plot_perplexities(runs, path):
    """Draw perplexity against steps for pretraining runs, on log axes.

    Held-out books with markers, training batches pale. `runs` are
    `comparison.Run`s. Return `path`, or None where no run has a perplexity.
    """
    points = [
        Point(str(run.path), kind, line["step"], line["perplexity"])
        for run in runs
        for line in run.lines
        for kind, split in (
            ("training batches", None),
            (BACKBONES[run.backbone], "held_out"),
        )
        if line.get("split") == split
        # Infinite ones are of a network that has learned nothing yet.
        and math.isfinite(line.get("perplexity") or math.inf)
    ]
    return (points or None) and draw_curves(
        points,
        path,
        y_label="perplexity per token",
        format_axes=_format_perplexities,
    )


def _format_perplexities(axes):
    format_log_steps(axes)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def save(figure, path, **options):
    """Write a figure as PNG; return `path`."""
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, **options)
    return path


def plot_confusion(truth, predictions, class_names, image_path, *, title):
    """Draw the confusion matrix of int arrays `[N]`; return `image_path`.

    A row is a true class, a column a predicted one. Cells hold the count and
    its share of the row, and dark ones are large shares.
    """
    from sklearn import metrics  # a report does without

    num_classes = len(class_names)
    matrix = metrics.confusion_matrix(
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
    return save(figure, image_path)


def plot_scores(truth, predictions, image_path, *, title):
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
    return save(figure, image_path)


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
