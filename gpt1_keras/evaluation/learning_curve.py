"""The learning curve of a run as a picture."""

import json
import math
import pathlib

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib import ticker  # noqa: E402


def plot(metrics_path, image_path):
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
