"""Axes and lines of plots that are read in grey and in colour."""

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib import ticker  # noqa: E402

# Dark to light, and a marker each: either tells the curves apart.
_COLOURS = ("black", "#a50f15", "#3182bd", "#e6a100", "#41ab5d", "#807dba")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = {"transformer": "-", "lstm": "--", None: ":"}


def look(i):
    """Return colour and marker of the i-th curve, for `Axes.plot`."""
    return {
        "color": _COLOURS[i % len(_COLOURS)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.4,
    }


def updates(axes, scale="log"):
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


def save(figure, path):
    """Write the picture and forget it; return `path`."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)
    return path
