"""Figure 2 of the paper: transferred layers (left), zero-shot tasks (right).

The numbers come first, as rows; the pictures are drawn from these rows.
"""

import re
import statistics

from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import tables

_CONSTANTS = {
    "metric": str,
    "random": (int, float),
    "state_of_the_art": (int, float),
    "source": str,
}
_FEWEST = 3  # numbers of layers that make a curve


def zero_shot_rows(runs, constants):
    """Return the zero-shot scores during pretraining: figure 2, right.

    Args:
        runs: list of `comparison.Run` of pretraining.
        constants: {zero-shot task: {"metric", "random", "state_of_the_art",
            "source"}}, scores as shares.
    """
    _check(constants)
    rows = []
    for run in runs:
        for task, each in constants.items():
            name = f"{task}_{each['metric']}"
            low, high = each["random"], each["state_of_the_art"]
            rows += [
                {
                    "workdir": str(run.path),
                    "backbone": run.backbone,
                    "task": task,
                    "metric": each["metric"],
                    "step": line["step"],
                    "score": line[name],
                    "random": low,
                    "state_of_the_art": high,
                    # As in the caption.
                    "relative": (line[name] - low) / (high - low),
                }
                for line in run.lines
                if line.get("split") == "probes" and line.get(name) is not None
            ]
    return rows


def _check(constants):
    for task, each in constants.items():
        problem = ""
        for name, types in _CONSTANTS.items():
            if not isinstance(each, dict) or name not in each:
                problem = f"{task} has no {name!r}"
            elif not isinstance(each[name], types):
                problem = f"{task}: {name!r} is {each[name]!r}"
        if not problem and each["random"] == each["state_of_the_art"]:
            problem = f"{task}: random and state_of_the_art are equal"
        if problem:
            raise errors.InputError(
                f"`constants`: {problem}; see gin/report.gin"
            )


def layer_rows(results):
    """Return the accuracies by transferred layers: figure 2, left.

    Of several settings with the same number of layers the one that differs
    least from the full model counts; of networks of several sizes the one
    with the longest curve. Tasks with fewer than three numbers of layers are
    left out: all or nothing is an ablation, not a curve.
    """
    rows = []
    for task, by_layers in _by_layers(results).items():
        if len(by_layers) < _FEWEST:
            continue
        full = comparison.preferred(by_layers[max(by_layers)])
        for layers in sorted(by_layers):
            result = comparison.closest(by_layers[layers], full)
            trained = [
                run.of_seed(seed).result.get("train_metrics", {})
                for seed, run in result.run_of_seed.items()
            ]
            splits = {
                "dev": result.values("accuracy"),
                "train": [m["accuracy"] for m in trained if "accuracy" in m],
            }
            rows += [
                {
                    "task": task,
                    "split": split,
                    "num_transferred_layers": layers,
                    "accuracy": statistics.fmean(values),
                    "lowest": min(values),
                    "highest": max(values),
                    "num_seeds": len(values),
                    "workdir": str(result.run.path),
                }
                for split, values in splits.items()
                if values
            ]
    return rows


def _by_layers(results):
    """Return {task: {transferred layers: results}} of networks of one size."""
    curves = {}
    for result in results:
        layers = _layers(result.run)
        if layers is not None and result.mean("accuracy") is not None:
            sizes = curves.setdefault(result.run.task, {})
            curve = sizes.setdefault(result.run.num_layers, {})
            curve.setdefault(layers, []).append(result)
    return {
        task: max(sizes.values(), key=len) for task, sizes in curves.items()
    }


def _layers(run):
    """Return the transferred layers of an otherwise full Transformer."""
    if run.row == "full":
        return run.num_layers
    is_one = re.fullmatch(r"no_pretraining|transferred_\d+", run.row or "")
    return run.num_transferred_layers if is_one else None


def drawn_runs(rows):
    """Return the workdirs of the right picture: the longest per backbone."""
    by_length = sorted(reversed(rows), key=lambda row: row["step"])
    return set({row["backbone"]: row["workdir"] for row in by_length}.values())


def draw_right(rows, path):
    """Draw relative score against steps from `zero_shot_rows`; return `path`.

    Transformer solid, LSTM dashed; a marker and a colour for each task.
    """
    shown = drawn_runs(rows)
    points = [
        plots.Point(
            tables.task_name(row["task"]),
            plots.BACKBONES[row["backbone"]],
            row["step"],
            row["relative"],
        )
        for row in rows
        if row["workdir"] in shown
    ]

    def format_axes(axes):
        axes.axhline(0, color="0.5", linewidth=0.8)
        plots.format_log_steps(axes)

    label = "relative task performance"
    return plots.draw_curves(
        points, path, y_label=label, format_axes=format_axes
    )


def draw_left(rows, path):
    """Draw accuracy against layers from `layer_rows`; return `path`.

    Dev solid, train dashed; a band from the lowest to the highest seed.
    """
    points = [
        plots.Point(
            tables.task_name(row["task"]),
            row["split"],
            row["num_transferred_layers"],
            *(100 * row[name] for name in ("accuracy", "lowest", "highest")),
        )
        for row in rows
    ]
    layers = sorted({point.x for point in points})

    def format_axes(axes):
        axes.set_xticks(layers, ["none" if k == -1 else str(k) for k in layers])
        axes.set_xlabel("layers transferred (0: embeddings alone)")

    label = "accuracy, percent"
    return plots.draw_curves(
        points, path, y_label=label, format_axes=format_axes
    )
