"""Learning curves of several pretraining runs in one picture."""

import math

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib import ticker  # noqa: E402

from gpt1_keras.evaluation import axes as axes_lib  # noqa: E402


def plot(runs, path):
    """Draw the perplexity on held-out books, and of batches, by updates.

    Held-out: markers, Transformer solid, LSTM dashed; batches: thin and pale.

    Args:
        runs: list of `workdirs.Run` of pretraining.
        path: path of the PNG to write.

    Returns:
        `path`, or None where no run has a perplexity.
    """
    figure, axes = pyplot.subplots(figsize=(7, 4.4), dpi=150)
    for i, run in enumerate(runs):
        look = axes_lib.look(i)
        lines = run.lines()
        axes.plot(
            *_curve(lines, None), color=look["color"], linewidth=0.8, alpha=0.35
        )
        axes.plot(
            *_curve(lines, "held_out"),
            linestyle=axes_lib.LINE_STYLES[run.backbone],
            label=str(run.path),
            **look,
        )
    if not any(len(line.get_xdata()) for line in axes.lines):
        pyplot.close(figure)
        return None
    axes.set_yscale("log")
    axes_lib.updates(axes)
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
    return axes_lib.save(figure, path)


def _curve(lines, split):
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
