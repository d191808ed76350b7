"""Plots but for figure 2, and the style of all: legible on a phone and in grey.

Learning curves of pretraining and fine-tuning; predicted against true classes
and scores. Letters: `N` examples, `Y` classes.
"""

import math
import pathlib
import statistics
import textwrap

import numpy as np
from matplotlib import figure as figure_lib
from matplotlib import lines as mpl_lines
from matplotlib import ticker

from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import tables

# Dark to light, with a marker each: either one tells the curves apart.
_COLOURS = ("black", "#a50f15", "#3182bd", "#e6a100", "#41ab5d", "#807dba")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = {"transformer": "-", "lstm": "--", None: ":"}
# Splits of the evaluations while fine-tuning -> (line style, name).
_SPLITS = {"dev": ("-", "dev"), "train_sample": ("--", "sample of train")}
_COLUMNS = 2  # more are too small on a phone
_PANEL = (2.7, 1.9)  # inches
_LONGEST_NAME = 24  # characters on an axis
_MOST_WRITTEN = 20  # classes whose cells have room for numbers
_MOST_NAMED = 120  # classes whose names have room on an axis
_DARK = 0.6  # share of the row above which numbers are white
_CHARACTERS = 11  # per inch of an axis


def curve_style(i):
    """Return colour and marker of the i-th curve, for `Axes.plot`."""
    return {
        "color": _COLOURS[i % len(_COLOURS)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.4,
    }


def legend_line(label, **style):
    """Return a line that only appears in a legend."""
    return mpl_lines.Line2D([], [], label=label, **style)


def step_axis(axes, scale="log"):
    """Make the x axis count steps, as 500, 1k, 2k, 5k.

    `scale` is "log", or "linear" where epochs are compared.
    """
    axes.set_xscale(scale)
    axes.set_xlabel("steps")
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    if scale == "linear":
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4, integer=True))
        return
    low, high = axes.get_xlim()
    # 1, 2 and 5 of each decade fit on the axis; of many decades only 1 does.
    subs = (1, 2, 5) if high / low < 3000 else (1,)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=subs))


def perplexity_axis(axes):
    axes.set_yscale("log")
    axes.set_ylabel("perplexity per token")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def save(figure, path, **options):
    """Write a figure as PNG; return `path`."""
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, **options)
    return path


def save_curves(figure, path):
    """Write a figure of curves with a light grid; return `path`."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    return save(figure, path, bbox_inches="tight")


def plot_perplexities(curves, path):
    """Draw perplexity against steps for pretraining runs, on log axes.

    Held-out books with markers, training batches thin and pale. `curves` are
    (label, line style, lines of `metrics.jsonl`). Return `path`, or None where
    no run has a perplexity.
    """
    figure = figure_lib.Figure(figsize=(7, 4.4), dpi=150)
    axes = figure.subplots()
    for i, (label, line_style, lines) in enumerate(curves):
        style = curve_style(i)
        axes.plot(
            *_perplexities(lines, None),
            color=style["color"],
            linewidth=0.8,
            alpha=0.35,
        )
        axes.plot(
            *_perplexities(lines, "held_out"),
            linestyle=line_style,
            label=label,
            **style,
        )
    if not any(len(line.get_xdata()) for line in axes.lines):
        return None
    step_axis(axes)
    perplexity_axis(axes)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        frameon=False,
        title="held-out books; pale: training batches",
    )
    return save_curves(figure, path)


def _perplexities(lines, split):
    """Return steps and perplexities of a split; None: training batches.

    Infinite ones, of a network that has learned nothing yet, are left out.
    """
    found = [
        (line["step"], line["perplexity"])
        for line in lines
        if line.get("split") == split
        and math.isfinite(line.get("perplexity") or math.inf)
    ]
    return tuple(zip(*found)) or ((), ())


def fine_tuning_rows(results):
    """Return the evaluations during fine-tuning, by the paper's metric.

    `results` are `comparison.Result`s; rows are dicts of task, ablation (None
    if unknown), workdir, seed, split ("dev" or "train_sample"), metric, step
    and score (a share).
    """
    return [
        {
            "task": result.run.task,
            "ablation": result.run.row,
            "workdir": str(run.path),
            "seed": seed,
            "split": line["split"],
            "metric": result.metric,
            "step": line["step"],
            "score": line[result.metric],
        }
        for result in results
        for seed, run in result.run_of_seed.items()
        for line in run.of_seed(seed).lines
        if line.get("split") in _SPLITS and line.get(result.metric) is not None
    ]


def plot_fine_tuning(rows, path):
    """Draw score against steps from `fine_tuning_rows`, a panel per task.

    Mean over seeds, in a band from the lowest to the highest; dev solid, the
    sample of the training examples dashed. Return `path`.
    """
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    columns = min(len(tasks), _COLUMNS)
    rows_of_panels = math.ceil(len(tasks) / columns)
    figure = figure_lib.Figure(
        figsize=(_PANEL[0] * columns, _PANEL[1] * rows_of_panels),
        dpi=150,
        layout="constrained",
    )
    grid = figure.subplots(rows_of_panels, columns, squeeze=False)
    for axes in grid.flat[len(tasks) :]:
        axes.remove()
    for i, (task, axes) in enumerate(zip(tasks, grid.flat)):
        _panel(axes, [row for row in rows if row["task"] == task])
        if i % columns == 0:
            axes.set_ylabel("percent", fontsize=8)
        if i + columns < len(tasks):
            axes.set_xlabel("")
    figure.legend(
        handles=_handles(rows),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=columns,
        frameon=False,
        fontsize=9,
    )
    return save_curves(figure, path)


def _panel(axes, rows):
    task, metric = (rows[0][name] for name in ("task", "metric"))
    title = f"{tables.task_name(task)}, {tables.metric_name(metric)}"
    axes.set_title(title, fontsize=9)
    curves = {}
    for row in rows:
        curve = curves.setdefault((row["ablation"], row["split"]), {})
        curve.setdefault(row["step"], []).append(100 * row["score"])
    for (ablation, split), curve in curves.items():
        style = curve_style(list(paper_tables.ROWS).index(ablation))
        steps = sorted(curve)
        scores = [curve[step] for step in steps]
        axes.plot(
            steps,
            list(map(statistics.fmean, scores)),
            linestyle=_SPLITS[split][0],
            **style | {"markersize": 3.5, "linewidth": 1.1},
        )
        axes.fill_between(
            steps,
            list(map(min, scores)),
            list(map(max, scores)),
            color=style["color"],
            alpha=0.15,
            linewidth=0,
        )
    step_axis(axes, scale="linear")
    axes.set_xlim(left=0)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(8)


def _handles(rows):
    ablations = {row["ablation"] for row in rows}
    splits = {row["split"] for row in rows}
    handles = [
        legend_line(label, **curve_style(i))
        for i, (name, label) in enumerate(paper_tables.ROWS.items())
        if name in ablations
    ]
    return handles + [
        legend_line(name, color="0.3", linestyle=style)
        for split, (style, name) in _SPLITS.items()
        if split in splits
    ]


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
