"""Figure 2 of the paper, drawn from the rows of `figure2`."""

import matplotlib

matplotlib.use("Agg")

from matplotlib import lines as matplotlib_lines  # noqa: E402
from matplotlib import pyplot  # noqa: E402

from gpt1_keras.evaluation import axes as axes_lib  # noqa: E402
from gpt1_keras.evaluation import paper_table  # noqa: E402

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
        probe: axes_lib.look(i)
        for i, probe in enumerate(dict.fromkeys(probe for probe, _ in curves))
    }
    figure, axes = pyplot.subplots(**_SIZE)
    for (probe, backbone), points in curves.items():
        axes.plot(
            *zip(*sorted(points)),
            linestyle=axes_lib.LINE_STYLES[backbone],
            **looks[probe],
        )
    axes.axhline(0, color="0.5", linewidth=0.8)
    axes_lib.updates(axes)
    axes.set_ylabel("relative task performance")
    handles = [
        _line(paper_table.task_name(probe), **look)
        for probe, look in looks.items()
    ]
    backbones = {backbone for _, backbone in curves}
    handles += [
        _line(name, color="0.3", linestyle=axes_lib.LINE_STYLES[backbone])
        for backbone, name in _BACKBONES.items()
        if backbone in backbones
    ]
    _legend(axes, handles=handles)
    return axes_lib.save(figure, path)


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
                label = f"{paper_table.task_name(task)}, {split}"
                look = axes_lib.look(i) | {"linestyle": style, "label": label}
                axes.errorbar(*_points(found), **look, **_BAR)
    layers = sorted({row["num_transferred_layers"] for row in rows})
    axes.set_xticks(layers, ["none" if k == -1 else str(k) for k in layers])
    axes.set_xlabel("layers transferred (0: embeddings alone)")
    axes.set_ylabel("accuracy, percent")
    _legend(axes)
    return axes_lib.save(figure, path)


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
