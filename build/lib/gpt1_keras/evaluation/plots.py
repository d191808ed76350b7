"""Style of every plot: legible on a phone, in colour and in grey."""

import pathlib

from matplotlib import lines
from matplotlib import ticker

# Dark to light, with a marker each: either one tells the curves apart.
_COLOURS = ("black", "#a50f15", "#3182bd", "#e6a100", "#41ab5d", "#807dba")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINE_STYLES = {"transformer": "-", "lstm": "--", None: ":"}


def curve_style(i):
    """Return colour and marker of the i-th curve, for `Axes.plot`."""
    return {
        "color": _COLOURS[i % len(_COLOURS)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.4,
    }


def legend_line(label, **style):
    """Return a line that only appears in a legend."""
    return lines.Line2D([], [], label=label, **style)


def step_axis(axes, scale="log"):
    """Make the x axis count steps, as 500, 1k, 2k, 5k.

    `scale` is "log", or "linear" where epochs are compared.
    """
    axes.set_xscale(scale)
    axes.set_xlabel("steps")
    axes.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    if scale == "linear":
        axes.xaxis.set_major_locator(ticker.MaxNLocator(4, integer=True))
        return
    low, high = axes.get_xlim()
    # 1, 2 and 5 of each decade fit on the axis; of many decades only 1 does.
    subs = (1, 2, 5) if high / low < 3000 else (1,)
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=subs))


def perplexity_axis(axes):
    """Make the y axis a logarithmic one of perplexities."""
    axes.set_yscale("log")
    axes.set_ylabel("perplexity per token")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())


def save(figure, path, **options):
    """Write a figure as PNG; return `path`."""
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, **options)
    return path


def save_curves(figure, path):
    """Write a figure of curves with a light grid; return `path`."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    return save(figure, path, bbox_inches="tight")
