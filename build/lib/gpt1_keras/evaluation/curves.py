"""Learning curves of pretraining and of fine-tuning."""

import math
import statistics

from matplotlib import figure as figure_lib

from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import tables

# Splits of the evaluations while fine-tuning -> (line style, name).
_SPLITS = {"dev": ("-", "dev"), "train_sample": ("--", "sample of train")}
_COLUMNS = 2  # more are too small on a phone
_PANEL = (2.7, 1.9)  # inches


def plot_perplexities(curves, path):
    """Draw perplexity against steps for one or several pretraining runs.

    Held-out books with markers, training batches thin and pale. Both axes are
    logarithmic.

    Args:
        curves: list of (label, line style, lines of `metrics.jsonl`).
        path: path of the PNG to write.

    Returns:
        `path`, or None where no run has a perplexity.
    """
    figure = figure_lib.Figure(figsize=(7, 4.4), dpi=150)
    axes = figure.subplots()
    for i, (label, line_style, lines) in enumerate(curves):
        style = plots.curve_style(i)
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
    plots.step_axis(axes)
    plots.perplexity_axis(axes)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        frameon=False,
        title="held-out books; pale: training batches",
    )
    return plots.save_curves(figure, path)


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
    """Return every evaluation while fine-tuning, by the paper's metric.

    Args:
        results: list of `comparison.Result` of fine-tuning.

    Returns:
        list of dicts: task, ablation (None if unknown), workdir,
        seed, split ("dev" or "train_sample"), metric, step, score (a share).
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


def drawn_rows(rows, ablations):
    """Return the `fine_tuning_rows` of the results in table 5."""
    shown = {
        str(run.path) for each in ablations.cells.values() for run in each.runs
    }
    return [row for row in rows if row["workdir"] in shown]


def plot_fine_tuning(rows, path):
    """Draw the `drawn_rows`, score against steps, one panel per task.

    Mean over seeds, in a band from the lowest to the highest; dev solid, the
    sample of the training examples dashed; a colour and a marker for each
    ablation. Return `path`.
    """
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    columns = min(len(tasks), _COLUMNS)
    lines = math.ceil(len(tasks) / columns)
    figure = figure_lib.Figure(
        figsize=(_PANEL[0] * columns, _PANEL[1] * lines),
        dpi=150,
        layout="constrained",
    )
    grid = figure.subplots(lines, columns, squeeze=False)
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
    return plots.save_curves(figure, path)


def _panel(axes, rows):
    """Draw the curves of one task."""
    task, metric = (rows[0][name] for name in ("task", "metric"))
    title = f"{tables.task_name(task)}, {tables.metric_name(metric)}"
    axes.set_title(title, fontsize=9)
    curves = {}
    for row in rows:
        curve = curves.setdefault((row["ablation"], row["split"]), {})
        curve.setdefault(row["step"], []).append(100 * row["score"])
    for (ablation, split), curve in curves.items():
        style = plots.curve_style(list(paper_tables.ROWS).index(ablation))
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
    plots.step_axis(axes, scale="linear")
    axes.set_xlim(left=0)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(8)


def _handles(rows):
    """Return the lines of the legend: ablations and splits that occur."""
    ablations = {row["ablation"] for row in rows}
    splits = {row["split"] for row in rows}
    handles = [
        plots.legend_line(label, **plots.curve_style(i))
        for i, (name, label) in enumerate(paper_tables.ROWS.items())
        if name in ablations
    ]
    return handles + [
        plots.legend_line(name, color="0.3", linestyle=style)
        for split, (style, name) in _SPLITS.items()
        if split in splits
    ]
