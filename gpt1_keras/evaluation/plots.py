"""Plots of runs: learning curves, and figure 2 of the paper.

All are legible on a phone and in grey. If a plot shows only some runs, a CSV
beside it has the numbers of all of them.
"""

import base64
import csv
import dataclasses
import io
import itertools
import math
import os
import pathlib
import statistics
import typing
import urllib.parse

import matplotlib
from matplotlib import figure as figure_lib
from matplotlib import font_manager
from matplotlib import lines as mpl_lines
from matplotlib import ticker

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import tables

# From dark to light, each with a marker: either distinguishes the curves.
_COLOURS = ("black", "#a50f15", "#3182bd", "#e6a100", "#41ab5d", "#807dba")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_CURVE = {"markersize": 4, "linewidth": 1.3}
_FAINT = {"linewidth": 0.8, "alpha": 0.35, "marker": ""}
# Kind of a curve -> its label and line, in the order of a legend.
_KINDS = {
    "transformer": ("Transformer", {"linestyle": "-"}),
    "lstm": ("LSTM", {"linestyle": "--"}),
    None: ("unknown network", {"linestyle": ":"}),
    "dev": ("dev", {"linestyle": "-"}),
    "train": ("train", {"linestyle": "--"}),
    "train_sample": ("sample of train", {"linestyle": "--"}),
    "batches": ("training batches", _FAINT),
}
# For class names: matplotlib's own font lacks Korean, Chinese and Japanese.
_FONTS = ("DejaVu Sans", "Noto Sans CJK KR", "Noto Sans KR", "NanumGothic")
_FONTS += ("Malgun Gothic", "Apple SD Gothic Neo")
_FOUND = [font for font in _FONTS if font in font_manager.get_font_names()]
# Decorates what draws: other plots of the process keep their own settings.
# Dollar signs in a user's texts would start a formula.
style = matplotlib.rc_context({"font.family": _FOUND, "text.parse_math": False})
_COLUMNS = 2  # more are too small on a phone
_FEWEST = 3  # numbers of layers that make a curve


@dataclasses.dataclass(frozen=True)
class Picture:
    """A PNG with the CSV of its numbers, and sentences below it."""

    title: str
    path: pathlib.Path
    alternative: str  # its alt text
    data: pathlib.Path | None = None
    notes: list = dataclasses.field(default_factory=list)
    is_small: bool = False  # shown beside others

    def uri(self):
        """Return the picture as a data URI."""
        content = base64.b64encode(self.path.read_bytes()).decode("ascii")
        return f"data:image/png;base64,{content}"

    def address(self, directory):
        """Return the address of the picture on a page in `directory`."""
        return urllib.parse.quote(os.path.relpath(self.path, directory))


class Point(typing.NamedTuple):
    """A point of a curve; several with the same `x` become their mean."""

    name: str  # determines the colour and marker
    kind: str | None  # determines the line: a key of `_KINDS`
    x: float
    y: float
    panel: str = ""  # title of its axes


@style
def draw_curves(points, path, *, y_label, format_axes, x_label="steps"):
    """Draw `Point`s as a PNG with a panel for each title.

    A curve shows the mean for each `x`, in a band from the lowest to the
    highest. `format_axes` is called with each panel's `Axes`, after drawing.
    """
    curves_of, styles = {}, {}
    for point in points:
        curves = curves_of.setdefault(point.panel, {})
        curve = curves.setdefault((point.name, point.kind), {})
        curve.setdefault(point.x, []).append(point.y)
        style = {
            "color": _COLOURS[len(styles) % len(_COLOURS)],
            "marker": _MARKERS[len(styles) % len(_MARKERS)],
        }
        styles.setdefault(point.name, _CURVE | style)
    width, height = (6.4, 4.0) if len(curves_of) == 1 else (2.9, 2.1)
    figure, grid = panels(len(curves_of), _COLUMNS, width, height)
    for axes, (title, curves) in zip(grid, curves_of.items()):
        for (name, kind), curve in curves.items():
            _draw_curve(axes, curve, styles[name] | _KINDS[kind][1])
        axes.set_title(title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
        format_axes(axes)
        axes.tick_params(labelsize=8)
    figure.supxlabel(x_label, fontsize=8)
    figure.supylabel(y_label, fontsize=8)
    kinds = {point.kind for point in points}
    if len(kinds - {"batches"}) == 1:  # The names are enough.
        kinds &= {"batches"}
    shown = styles | {
        label: {"color": "0.3"} | line
        for kind, (label, line) in _KINDS.items()
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
    save(figure, path, bbox_inches="tight")


def _draw_curve(axes, curve, style):
    steps = sorted(curve)
    axes.plot(steps, [statistics.fmean(curve[x]) for x in steps], **style)
    low, high = ([choose(curve[x]) for x in steps] for choose in (min, max))
    if low != high:
        axes.fill_between(
            steps, low, high, color=style["color"], alpha=0.15, linewidth=0
        )


def panels(count, most_columns, width, height):
    """Return a figure and its `count` axes of `width` x `height` inches."""
    columns = min(count, most_columns)
    rows = math.ceil(count / columns)
    size = (width * columns, height * rows)
    figure = figure_lib.Figure(size, dpi=150, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes in grid[count:]:
        axes.remove()
    return figure, grid[:count]


def save(figure, path, **options):
    """Write a figure as PNG."""
    content = io.BytesIO()
    figure.savefig(content, **options)
    files.write_atomic(path, content.getvalue())


def _log_steps(axes):
    """Make the x axis logarithmic, with steps such as 500, 1k, 2k, 5k."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    # 1, 2 and 5 of each decade fit on the axis; of many decades only 1 does,
    # and a short axis has room for all.
    subs = (1, 2, 5) if high / low < 3000 else (1,)
    if high / low < 5:
        subs = range(1, 10)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=subs))
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _linear_steps(axes):
    """Make the x axis linear from 0, so that epochs can be compared."""
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))


def _log_perplexities(axes):
    _log_steps(axes)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


# --- The pictures; each is None if there is nothing to draw. ------------------


def perplexities(runs, path):
    """Draw perplexity against steps for pretraining runs, on log axes."""
    points = []
    for run in runs:
        kinds = {None: "batches", "held_out": run.backbone}
        for line in run.lines:
            split, value = line.get("split"), line.get("perplexity")
            # It is infinite before a network has learned anything.
            if split in kinds and math.isfinite(value or math.inf):
                name = str(run.path) if len(runs) > 1 else "held-out books"
                kind = kinds[split]
                points.append(Point(name, kind, line["step"], value))
    if not points:
        return None
    label = "perplexity per token of held-out books"
    draw_curves(points, path, y_label=label, format_axes=_log_perplexities)
    return Picture(
        "Learning curves of pretraining",
        path,
        "Perplexity against steps, on held-out books and training batches.",
    )


def scores(lines, metric, path):
    """Draw a metric against steps from the lines of one fine-tuning run."""
    points = [
        Point(_KINDS[line["split"]][0], "dev", line["step"], line[metric])
        for line in lines
        if line.get("split") in ("dev", "train_sample") and metric in line
    ]
    label = tables.metric_name(metric)
    draw_curves(points, path, y_label=label, format_axes=_linear_steps)


def fine_tuning(runs, ablations, directory):
    """Draw learning curves of the runs of `paper_tables.choose_ablations`.

    The CSV has the paper's metric (a share) of all `runs` at each evaluation.
    """
    rows = [
        {
            "task": run.task,
            "ablation": run.row,
            "workdir": str(own.path),
            "seed": seed,
            "split": line["split"],
            "metric": run.metric,
            "step": line["step"],
            "score": line[run.metric],
        }
        for run in runs
        for seed, own in run.seeds.items()
        for line in own.lines
        if line.get("split") in ("dev", "train_sample")
        and line.get(run.metric) is not None
    ]
    shown = {str(path) for run in ablations.values() for path in run.paths}
    points = [
        Point(label, row["split"], row["step"], 100 * row["score"], _title(row))
        for ablation, label in paper_tables.ROWS.items()
        for row in rows
        if row["ablation"] == ablation and row["workdir"] in shown
    ]
    return _figure(
        directory / "fine_tuning_curves.csv",
        "Learning curves of fine-tuning",
        "The paper's metric of each task against steps; dev solid, a sample "
        "of the training examples dashed.",
        rows=rows,
        points=points,
        runs=ablations.values(),
        note="One result for each task and row of table 5: mean over seeds, "
        "in a band from the lowest to the highest.",
        y_label="percent",
        format_axes=_linear_steps,
    )


def _title(row):
    task, metric = row["task"], row["metric"]
    return f"{tables.task_name(task)}, {tables.metric_name(metric)}"


def transferred_layers(runs, directory):
    """Draw figure 2, left: the paper's metric against transferred layers.

    Tasks with fewer than three numbers of layers are left out: "all" and "none"
    alone are an ablation, not a curve.
    """
    chosen, rows, points = _layer_curves(runs), [], []
    for (layers, run), split in itertools.product(chosen, ("dev", "train")):
        if values := run.values(run.metric, split):
            row = {
                "task": run.task,
                "split": split,
                "num_transferred_layers": layers,
                "metric": run.metric,
                "score": statistics.fmean(values),
                "lowest": min(values),
                "highest": max(values),
                "num_seeds": len(values),
                "workdir": str(run.path),
            }
            rows.append(row)
            name = _title(row)
            points += [Point(name, split, layers, 100 * v) for v in values]
    ticks = sorted({point.x for point in points})
    names = ["none" if tick == -1 else str(tick) for tick in ticks]
    return _figure(
        directory / "figure2_left.csv",
        "Figure 2, left: transferred layers",
        "The paper's metric of each task against the number of transferred "
        "layers; dev solid, train dashed.",
        rows=rows,
        points=points,
        runs=[run for _, run in chosen],
        note="Mean over seeds, in a band from the lowest to the highest.",
        y_label="percent",
        x_label="layers transferred (0: embeddings alone)",
        format_axes=lambda axes: axes.set_xticks(ticks, names),
    )


def _layer_curves(runs):
    """Return [(transferred layers, run)] of the full models, by task.

    Of runs with the same number of layers, the one that differs least from the
    full model counts; of several network sizes, that with the longest curve.
    """
    curves = {}
    for run in runs:
        found = run.result
        layers = found.get("num_transferred_layers", found.get("num_layers"))
        is_full = run.backbone == "transformer" and found.get("lm_loss_weight")
        if is_full and layers is not None:
            sizes = curves.setdefault(run.task, {})
            curve = sizes.setdefault(found.get("num_layers"), {})
            curve.setdefault(layers, []).append(run)
    chosen = []
    for sizes in curves.values():
        curve = max(sizes.values(), key=len)
        full = comparison.preferred(curve[max(curve)])
        if len(curve) >= _FEWEST:
            for layers in sorted(curve):
                run = comparison.preferred(curve[layers], full)
                chosen.append((layers, run))
    return chosen


def zero_shot(runs, constants, directory):
    """Draw figure 2, right: zero-shot scores against steps of pretraining.

    Draws the longest run of each kind of network. `constants` is {zero-shot
    task: {"metric", "random", "state_of_the_art", "source"}}, in shares.
    """
    _check(constants)
    rows = [
        {
            "workdir": str(run.path),
            "backbone": run.backbone,
            "task": task,
            "metric": each["metric"],
            "step": line["step"],
            "score": score,
            "random": each["random"],
            "state_of_the_art": each["state_of_the_art"],
            # As in the paper's caption.
            "relative": (score - each["random"])
            / (each["state_of_the_art"] - each["random"]),
        }
        for run in runs
        for task, each in constants.items()
        for line in run.lines
        if line.get("split") == "probes"
        and (score := line.get(f"{task}_{each['metric']}")) is not None
    ]
    by_length = sorted(reversed(rows), key=lambda row: row["step"])
    # The last row of a kind wins: the longest run, of equal ones the first.
    shown = {row["backbone"]: row["workdir"] for row in by_length}.values()
    points = [
        Point(
            tables.task_name(row["task"]),
            row["backbone"],
            row["step"],
            row["relative"],
        )
        for row in rows
        if row["workdir"] in shown
    ]
    chosen = "; ".join(
        f"{tables.task_name(task)} {tables.percent(each['random'])}"
        f" to {tables.percent(each['state_of_the_art'])} ({each['source']})"
        for task, each in constants.items()
    )

    def format_axes(axes):
        axes.axhline(0, color="0.5", linewidth=0.8)
        _log_steps(axes)

    return _figure(
        directory / "figure2_right.csv",
        "Figure 2, right: zero-shot performance while pretraining",
        "Relative performance of zero-shot tasks against steps; "
        "Transformer solid, LSTM dashed.",
        rows=rows,
        points=points,
        runs=[run for run in runs if str(run.path) in shown],
        note="(score - random) / (state of the art - random); the paper does "
        f"not give its constants. Here: {chosen}.",
        y_label="relative task performance",
        format_axes=format_axes,
    )


def _check(constants):
    for task, each in constants.items():
        match each:
            case {
                "metric": str(),
                "source": str(),
                "random": int() | float() as low,
                "state_of_the_art": int() | float() as high,
            } if low != high:
                continue
        raise errors.InputError(
            f"`constants`: {task} is {errors.shortened(repr(each))}: give"
            " metric, source, random and another number as state_of_the_art,"
            " as in gin/report.gin"
        )


def _figure(data, title, alternative, *, rows, points, runs, note, **options):
    """Write rows to the CSV `data` and draw points of the `runs` among them."""
    if not points:
        return None
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_atomic(data, text.getvalue())
    path = data.parent / f"plots/{data.stem}.png"
    draw_curves(points, path, **options)
    title = tables.sample_title(title, runs)
    notes, shown = [note], {str(path) for run in runs for path in run.paths}
    others = sorted({row["workdir"] for row in rows} - shown)
    if others:
        notes.append(f"Only in the CSV: {', '.join(others)}.")
    return Picture(title, path, alternative, data, notes)
