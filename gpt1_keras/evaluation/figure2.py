"""Figure 2 of the paper as numbers: layers transferred, and probes.

`figure2_plot` draws them.
"""

import csv
import io
import pathlib

import matplotlib
from matplotlib import lines as matplotlib_lines  # noqa: E402
from matplotlib import pyplot  # noqa: E402

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import curves as curves_lib  # noqa: E402
from gpt1_keras.evaluation import tables  # noqa: E402

# -----------------------------------------------------------------------------
# Figure 2 of the paper as numbers: layers transferred, and probes.

_CONSTANTS = {
    "metric": str,
    "random": (int, float),
    "state_of_the_art": (int, float),
    "source": str,
}
_FEWEST = 3  # numbers of layers that make a curve


def relative_score(score, random, state_of_the_art):
    """(score - random) / (state of the art - random), as in the caption."""
    return (score - random) / (state_of_the_art - random)


def probe_rows(runs, constants):
    """Return the zero-shot scores while pretraining: figure 2, right.

    Args:
        runs: list of `comparison.Run` of pretraining.
        constants: dict from a probe to {"metric", "random",
            "state_of_the_art", "source"}, scores as shares.

    Returns:
        list of dicts: workdir, backbone, probe, metric, updates, score,
        random, state_of_the_art, relative.
    """
    _check(constants)
    return [
        {
            "workdir": str(run.path),
            "backbone": run.backbone,
            "probe": probe,
            "metric": each["metric"],
            "updates": line["step"],
            "score": line[f"{probe}_{each['metric']}"],
            "random": each["random"],
            "state_of_the_art": each["state_of_the_art"],
            "relative": relative_score(
                line[f"{probe}_{each['metric']}"],
                each["random"],
                each["state_of_the_art"],
            ),
        }
        for run in runs
        for probe, each in constants.items()
        for line in run.lines()
        if line.get("split") == "probes" and f"{probe}_{each['metric']}" in line
    ]


def layer_rows(results, evaluations=()):
    """Return the accuracies by transferred layers: figure 2, left.

    Of several settings with the same number of layers the one that differs
    least from the full model counts; of networks of several sizes the one
    with the longest curve. Accuracy on the training examples is
    that of the kept weights: `train_metrics` of the result, else an
    `evaluate` run of the split "train".

    Args:
        results: list of `comparison.Result` of fine-tuning.
        evaluations: list of `comparison.Run` of `evaluate`.

    Returns:
        list of dicts: task, split, num_transferred_layers, accuracy, lowest,
        highest, num_seeds, workdir. Tasks without a part of the layers
        (nothing and all alone is an ablation) are left out.
    """
    rows = []
    for task, by_layers in _by_layers(results).items():
        if len(by_layers) < _FEWEST:
            continue
        full = comparison.preferred(by_layers[max(by_layers)])
        for layers in sorted(by_layers):
            result = comparison.closest(by_layers[layers], full)
            splits = {
                "dev": result.values("accuracy"),
                "train": _training_accuracies(result, evaluations),
            }
            rows += [
                {
                    "task": task,
                    "split": split,
                    "num_transferred_layers": layers,
                    "accuracy": sum(values) / len(values),
                    "lowest": min(values),
                    "highest": max(values),
                    "num_seeds": len(values),
                    "workdir": str(result.run.path),
                }
                for split, values in splits.items()
                if values
            ]
    return rows


def write_csv(rows, path):
    """Write rows, the names of the columns first; return `path`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files.write_atomic(path, text.getvalue())
    return path


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
    """Transferred layers of an otherwise full Transformer, else None."""
    row = run.row or ""
    if row == "full":
        return run.num_layers
    if row == "no_pretraining" or row.startswith("transferred_"):
        return run.num_transferred_layers if " + " not in row else None
    return None


def _training_accuracies(result, evaluations):
    """Accuracies on the training examples, of the seeds that have one."""
    found = []
    for run in result.runs:
        for seed in run.seeds:
            value = run.training_metrics(seed).get("accuracy")
            if value is None:
                value = _evaluated(run.seed_folder(seed), evaluations)
            if value is not None:
                found.append(value)
    return found


def _evaluated(folder, evaluations):
    """Training accuracy of the model in a folder, by an `evaluate` run."""
    presets = {folder.resolve(), (folder / "preset").resolve()}
    for run in evaluations:
        source = run.result.get("preset")
        is_train = run.result.get("split") == "train"
        if is_train and source and pathlib.Path(source).resolve() in presets:
            return run.result["metrics"].get("accuracy")
    return None


def _check(constants):
    if not isinstance(constants, dict):
        raise errors.InputError(
            f"PROBE_CONSTANTS is {constants!r}: give a dict as in"
            " gin/report.gin"
        )
    for probe, each in constants.items():
        for name, types in _CONSTANTS.items():
            if not isinstance(each, dict) or name not in each:
                raise errors.InputError(
                    f"PROBE_CONSTANTS: {probe} has no {name!r}: see"
                    " gin/report.gin"
                )
            if not isinstance(each[name], types):
                raise errors.InputError(
                    f"PROBE_CONSTANTS: {probe}: {name!r} is {each[name]!r}:"
                    " see gin/report.gin"
                )
        if each["random"] == each["state_of_the_art"]:
            raise errors.InputError(
                f"PROBE_CONSTANTS: {probe}: random and state_of_the_art are"
                " equal: give different ones"
            )


# -----------------------------------------------------------------------------
# Figure 2 of the paper, drawn from the rows of `figure2`.

matplotlib.use("Agg")


_SIZE = {"figsize": (6.4, 4.4), "dpi": 150}
_BACKBONES = {"transformer": "Transformer", "lstm": "LSTM", None: "unknown"}
_SPLITS = {"dev": "-", "train": "--"}
_BAR = {"capsize": 2, "elinewidth": 0.8}


def drawn_runs(rows):
    """Return the workdirs that the right picture shows: one a backbone.

    The one probed after the most updates, of several the first.
    """
    chosen = {}
    for row in rows:
        best = chosen.get(row["backbone"])
        if best is None or row["updates"] > best["updates"]:
            chosen[row["backbone"]] = row
    return {row["workdir"] for row in chosen.values()}


def draw_right(rows, path):
    """Draw rows of `figure2.probe_rows`; return the path of the PNG.

    Relative score against updates; Transformer solid, LSTM dashed; a marker
    and a colour for each probe.
    """
    shown = drawn_runs(rows)
    curves = {}
    for row in rows:
        if row["workdir"] in shown:
            points = curves.setdefault((row["probe"], row["backbone"]), [])
            points.append((row["updates"], row["relative"]))
    looks = {
        probe: curves_lib.style_axes(i)
        for i, probe in enumerate(dict.fromkeys(probe for probe, _ in curves))
    }
    figure, axes = pyplot.subplots(**_SIZE)
    for (probe, backbone), points in curves.items():
        axes.plot(
            *zip(*sorted(points)),
            linestyle=curves_lib.LINE_STYLES[backbone],
            **looks[probe],
        )
    axes.axhline(0, color="0.5", linewidth=0.8)
    curves_lib.step_axis(axes)
    axes.set_ylabel("relative task performance")
    handles = [
        _line(tables.task_name(probe), **look) for probe, look in looks.items()
    ]
    backbones = {backbone for _, backbone in curves}
    handles += [
        _line(name, color="0.3", linestyle=curves_lib.LINE_STYLES[backbone])
        for backbone, name in _BACKBONES.items()
        if backbone in backbones
    ]
    _legend(axes, handles=handles)
    return curves_lib.save_figure(figure, path)


def draw_left(rows, path):
    """Draw rows of `figure2.layer_rows`; return the path of the PNG.

    Accuracy against transferred layers; dev solid, train dashed; a bar from
    the lowest to the highest seed.
    """
    figure, axes = pyplot.subplots(**_SIZE)
    for i, task in enumerate(dict.fromkeys(row["task"] for row in rows)):
        for split, style in _SPLITS.items():
            of_task = [row for row in rows if row["task"] == task]
            found = [row for row in of_task if row["split"] == split]
            if found:
                label = f"{tables.task_name(task)}, {split}"
                look = curves_lib.style_axes(i) | {
                    "linestyle": style,
                    "label": label,
                }
                axes.errorbar(*_points(found), **look, **_BAR)
    layers = sorted({row["num_transferred_layers"] for row in rows})
    axes.set_xticks(layers, ["none" if k == -1 else str(k) for k in layers])
    axes.set_xlabel("layers transferred (0: embeddings alone)")
    axes.set_ylabel("accuracy, percent")
    _legend(axes)
    return curves_lib.save_figure(figure, path)


def _points(rows):
    """Return (layers, accuracy, (below, above)) of one curve, in percent."""
    below = [100 * (row["accuracy"] - row["lowest"]) for row in rows]
    above = [100 * (row["highest"] - row["accuracy"]) for row in rows]
    return (
        [row["num_transferred_layers"] for row in rows],
        [100 * row["accuracy"] for row in rows],
        (below, above) if any(below + above) else None,
    )


def _line(label, **look):
    return matplotlib_lines.Line2D([], [], label=label, **look)


def _legend(axes, **more):
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, **more)
