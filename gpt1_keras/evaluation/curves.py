"""Learning curves of fine-tuning: a small plot for each task."""

import json
import math
import pathlib
import statistics

import matplotlib
from matplotlib import lines as matplotlib_lines  # noqa: E402
from matplotlib import pyplot  # noqa: E402
from matplotlib import ticker  # noqa: E402

from gpt1_keras.evaluation import paper_tables  # noqa: E402
from gpt1_keras.evaluation import tables  # noqa: E402

# -----------------------------------------------------------------------------
# Axes and lines of plots that are read in grey and in colour.

matplotlib.use("Agg")


# Dark to light, and a marker each: either tells the curves apart.
_COLOURS = ("black", "#a50f15", "#3182bd", "#e6a100", "#41ab5d", "#807dba")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = {"transformer": "-", "lstm": "--", None: ":"}


def style_axes(i):
    """Return colour and marker of the i-th curve, for `Axes.plot`."""
    return {
        "color": _COLOURS[i % len(_COLOURS)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.4,
    }


def step_axis(axes, scale="log"):
    """Make the x axis count updates, as 500, 1k, 2k, 5k.

    Args:
        axes: matplotlib's, with its curves.
        scale: "log", or "linear" where epochs are compared.
    """
    axes.set_xscale(scale)
    axes.set_xlabel("updates")
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    if scale == "linear":
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4, integer=True))
        return
    low, high = axes.get_xlim()
    # Within a few decades 1, 2 and 5 of each have room, beyond only 1.
    steps = (1, 2, 5) if high / low < 3000 else (1,)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=steps))


def save_figure(figure, path):
    """Write the picture and forget it; return `path`."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
    return path


# -----------------------------------------------------------------------------
# The learning curve of a run as a picture.

matplotlib.use("Agg")


def plot_learning_curve(metrics_path, image_path):
    """Draw training and held-out perplexity against updates.

    Both axes are logarithmic; the two curves differ in line and marker, so
    that the picture reads in grey too.

    Args:
        metrics_path: path of a `metrics.jsonl`.
        image_path: path of the PNG to write.

    Returns:
        `image_path`.
    """
    lines = [
        json.loads(line)
        for line in pathlib.Path(metrics_path).read_text().splitlines()
    ]
    # A network that has not learnt anything yet may be infinitely perplexed.
    lines = [
        line
        for line in lines
        if math.isfinite(line.get("perplexity", math.inf))
    ]
    training = [line for line in lines if "split" not in line]
    held_out = [line for line in lines if line.get("split") == "held_out"]

    figure, axes = pyplot.subplots(figsize=(7, 4.5), dpi=120)
    axes.plot(
        *_curve(training), color="0.6", linewidth=1, label="training batches"
    )
    axes.plot(
        *_curve(held_out),
        color="black",
        marker="o",
        markersize=4,
        label="held-out books",
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    if not lines:
        axes.set(xlim=(1, 10), ylim=(1, 10))
    axes.set_xlabel("updates")
    axes.set_ylabel("perplexity per token")
    # Updates as 500, 1k, 2k, 5k: in full they would run into each other.
    for axis, labels in (
        (axes.xaxis, ticker.EngFormatter(sep="")),
        (axes.yaxis, ticker.StrMethodFormatter("{x:,g}")),
    ):
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(labels)
        axis.set_minor_formatter(ticker.NullFormatter())
    if held_out:
        last = held_out[-1]
        axes.annotate(
            f"{last['perplexity']:.1f}",
            (last["step"], last["perplexity"]),
            textcoords="offset points",
            xytext=(0, 8),
            horizontalalignment="center",
        )
    axes.grid(True, which="major", linewidth=0.4, alpha=0.5)
    axes.legend()
    figure.tight_layout()
    image_path = pathlib.Path(image_path)
    image_path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(image_path)
    pyplot.close(figure)
    return image_path


def _curve(lines):
    return (
        [line["step"] for line in lines],
        [line["perplexity"] for line in lines],
    )


# -----------------------------------------------------------------------------
# Learning curves of several pretraining runs in one picture.

matplotlib.use("Agg")


def plot_perplexities(runs, path):
    """Draw the perplexity on held-out books, and of batches, by updates.

    Held-out: markers, Transformer solid, LSTM dashed; batches: thin and pale.

    Args:
        runs: list of `comparison.Run` of pretraining.
        path: path of the PNG to write.

    Returns:
        `path`, or None where no run has a perplexity.
    """
    figure, axes = pyplot.subplots(figsize=(7, 4.4), dpi=150)
    for i, run in enumerate(runs):
        look = style_axes(i)
        lines = run.lines()
        axes.plot(
            *_curve_of_perplexity_curves(lines, None),
            color=look["color"],
            linewidth=0.8,
            alpha=0.35,
        )
        axes.plot(
            *_curve_of_perplexity_curves(lines, "held_out"),
            linestyle=LINE_STYLES[run.backbone],
            label=str(run.path),
            **look,
        )
    if not any(len(line.get_xdata()) for line in axes.lines):
        pyplot.close(figure)
        return None
    axes.set_yscale("log")
    step_axis(axes)
    axes.set_ylabel("perplexity per token")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        frameon=False,
        title="held-out books; pale: training batches",
    )
    return save_figure(figure, path)


def _curve_of_perplexity_curves(lines, split):
    """Return updates and perplexities of one split; None: the batches.

    A network that has learnt nothing may be infinitely perplexed.
    """
    found = [
        (line["step"], line["perplexity"])
        for line in lines
        if line.get("split") == split
        and math.isfinite(line.get("perplexity", math.inf))
    ]
    return tuple(zip(*found)) or ((), ())


# -----------------------------------------------------------------------------
# Learning curves of fine-tuning: a small plot for each task.

matplotlib.use("Agg")


_SPLITS = {"dev": "-", "train_sample": "--"}
_NAMES = {"dev": "dev", "train_sample": "sample of train"}
_COLUMNS = 2  # more are too small on a phone
_PANEL = (2.7, 1.9)  # inches


def fine_tuning_rows(results):
    """Return every evaluation while fine-tuning, of the paper's metric.

    Args:
        results: list of `comparison.Result` of fine-tuning.

    Returns:
        list of dicts: task, ablation (None if no file says it), workdir,
        seed, split ("dev" or "train_sample"), metric, updates, score (a
        share).
    """
    return [
        {
            "task": result.run.task,
            "ablation": result.run.row,
            "workdir": str(run.path),
            "seed": seed,
            "split": line["split"],
            "metric": result.metric,
            "updates": line["step"],
            "score": line[result.metric],
        }
        for result in results
        for seed, run in _runs(result).items()
        for line in run.lines(seed)
        if line.get("split") in _SPLITS and result.metric in line
    ]


def drawn_rows(found, ablations):
    """Return those rows that the picture shows: the results of table 5.

    Args:
        found: list of dicts, see `rows`.
        ablations: `paper_tables.Ablations`.
    """
    shown = {
        str(run.path) for each in ablations.cells.values() for run in each.runs
    }
    return [row for row in found if row["workdir"] in shown]


def plot_fine_tuning(found, path):
    """Draw rows, an axes for each task; return the path of the PNG.

    Mean over seeds, in a band from the lowest to the highest; dev solid, the
    sample of the training examples dashed; a colour and a marker for each
    ablation.

    Args:
        found: list of dicts, see `rows`; a curve for each task and ablation.
        path: path of the PNG to write.
    """
    tasks = list(dict.fromkeys(row["task"] for row in found))
    columns = min(len(tasks), _COLUMNS)
    lines = math.ceil(len(tasks) / columns)
    figure, grid = pyplot.subplots(
        lines,
        columns,
        figsize=(_PANEL[0] * columns, _PANEL[1] * lines),
        dpi=150,
        squeeze=False,
        layout="constrained",
    )
    for axes in grid.flat[len(tasks) :]:
        axes.remove()
    for i, (task, axes) in enumerate(zip(tasks, grid.flat)):
        _panel(axes, [row for row in found if row["task"] == task])
        if i % columns == 0:
            axes.set_ylabel("percent", fontsize=8)
        if i + columns < len(tasks):
            axes.set_xlabel("")
    figure.legend(
        handles=_handles(found),
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=columns,
        frameon=False,
        fontsize=9,
    )
    return save_figure(figure, path)


def _runs(result):
    """Return {seed: the first `comparison.Run` that has it} of a setting."""
    found = {}
    for run in result.runs:
        found |= {seed: run for seed in run.seeds if seed not in found}
    return found


def _panel(axes, found):
    """Draw the curves of one task."""
    task, metric = (found[0][name] for name in ("task", "metric"))
    title = f"{tables.task_name(task)}, {tables.metric_name(metric)}"
    axes.set_title(title, fontsize=9)
    for ablation in dict.fromkeys(row["ablation"] for row in found):
        for split, style in _SPLITS.items():
            points = {}
            for row in found:
                if (row["ablation"], row["split"]) == (ablation, split):
                    scores = points.setdefault(row["updates"], [])
                    scores.append(100 * row["score"])
            look = style_axes(_place(ablation))
            updates = sorted(points)
            scores = [points[each] for each in updates]
            axes.plot(
                updates,
                list(map(statistics.fmean, scores)),
                linestyle=style,
                **look | {"markersize": 3.5, "linewidth": 1.1},
            )
            axes.fill_between(
                updates,
                list(map(min, scores)),
                list(map(max, scores)),
                color=look["color"],
                alpha=0.15,
                linewidth=0,
            )
    step_axis(axes, scale="linear")
    axes.set_xlim(left=0)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(8)


def _place(ablation):
    return list(paper_tables.ROWS).index(ablation)


def _handles(found):
    """Lines of the legend: the ablations and the splits that are there."""
    ablations = {row["ablation"] for row in found}
    splits = {row["split"] for row in found}
    handles = [
        matplotlib_lines.Line2D([], [], label=label, **style_axes(i))
        for i, (name, label) in enumerate(paper_tables.ROWS.items())
        if name in ablations
    ]
    return handles + [
        matplotlib_lines.Line2D(
            [], [], color="0.3", linestyle=style, label=name
        )
        for split, style in _SPLITS.items()
        if split in splits
        for name in [_NAMES[split]]
    ]
