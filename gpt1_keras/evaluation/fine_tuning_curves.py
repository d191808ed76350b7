"""Learning curves of fine-tuning: a small plot for each task."""

import math
import statistics

import matplotlib

matplotlib.use("Agg")

from matplotlib import lines as matplotlib_lines  # noqa: E402
from matplotlib import pyplot  # noqa: E402

from gpt1_keras.evaluation import ablation_table  # noqa: E402
from gpt1_keras.evaluation import axes as axes_lib  # noqa: E402
from gpt1_keras.evaluation import paper_table  # noqa: E402

_SPLITS = {"dev": "-", "train_sample": "--"}
_NAMES = {"dev": "dev", "train_sample": "sample of train"}
_COLUMNS = 2  # more are too small on a phone
_PANEL = (2.7, 1.9)  # inches


def rows(results):
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


def drawn(found, ablations):
    """Return those rows that the picture shows: the results of table 5.

    Args:
        found: list of dicts, see `rows`.
        ablations: `ablation_table.Ablations`.
    """
    shown = {
        str(run.path) for each in ablations.cells.values() for run in each.runs
    }
    return [row for row in found if row["workdir"] in shown]


def plot(found, path):
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
    return axes_lib.save(figure, path)


def _runs(result):
    """Return {seed: the first `workdirs.Run` that has it} of a setting."""
    found = {}
    for run in result.runs:
        found |= {seed: run for seed in run.seeds if seed not in found}
    return found


def _panel(axes, found):
    """Draw the curves of one task."""
    task, metric = (found[0][name] for name in ("task", "metric"))
    title = f"{paper_table.task_name(task)}, {paper_table.metric_name(metric)}"
    axes.set_title(title, fontsize=9)
    for ablation in dict.fromkeys(row["ablation"] for row in found):
        for split, style in _SPLITS.items():
            points = {}
            for row in found:
                if (row["ablation"], row["split"]) == (ablation, split):
                    scores = points.setdefault(row["updates"], [])
                    scores.append(100 * row["score"])
            look = axes_lib.look(_place(ablation))
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
    axes_lib.updates(axes, scale="linear")
    axes.set_xlim(left=0)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(8)


def _place(ablation):
    return list(ablation_table.ROWS).index(ablation)


def _handles(found):
    """Lines of the legend: the ablations and the splits that are there."""
    ablations = {row["ablation"] for row in found}
    splits = {row["split"] for row in found}
    handles = [
        matplotlib_lines.Line2D([], [], label=label, **axes_lib.look(i))
        for i, (name, label) in enumerate(ablation_table.ROWS.items())
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
