"""Pictures of attention: which token looks at which.

Letters: `H` heads, `T` tokens.
"""

import math

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

_MOST_NAMED = 60  # tokens whose names have room on an axis
_MOST_NAMED_SMALL = 15  # the same where heads stand side by side
_COLUMNS = 3  # of the heads of a layer: legible on a phone


def one_head(shares, pieces, path, *, title):
    """Draw one head: rows attend to columns, the darker the more.

    Args:
        shares: float array `[T, T]`, rows add up to one.
        pieces: `T` str, the tokens.
        path: path of the PNG to write.
        title: str.

    Returns:
        `path`.
    """
    has_names = len(pieces) <= _MOST_NAMED
    side = 2.5 + (0.17 * len(pieces) if has_names else 6.0)  # inches
    figure, axes = pyplot.subplots(
        figsize=(side + 1.0, side), dpi=120, layout="constrained"
    )
    image = _draw(axes, shares)
    axes.set_title(title, parse_math=False, fontsize=11)
    axes.set_xlabel("attended to")
    axes.set_ylabel("attends")
    if has_names:
        _name(axes, pieces)
    figure.colorbar(image, ax=axes, shrink=0.5, label="share of the row")
    return _save(figure, path)


def all_heads(shares, pieces, path, *, title):
    """Draw the heads of a layer side by side.

    Args:
        shares: float array `[H, T, T]`, rows add up to one.
        pieces: `T` str, the tokens.
        path: path of the PNG to write.
        title: str.

    Returns:
        `path`.
    """
    columns = min(_COLUMNS, math.ceil(math.sqrt(len(shares))))
    has_names = len(pieces) <= _MOST_NAMED_SMALL
    side = 1.2 + 0.17 * len(pieces) if has_names else 2.4  # inches
    rows = math.ceil(len(shares) / columns)
    figure, grid = pyplot.subplots(
        rows,
        columns,
        figsize=(side * columns, (side + 0.1) * rows + 0.4),
        dpi=120,
        layout="constrained",
        squeeze=False,
    )
    figure.suptitle(title, parse_math=False, fontsize=11)
    for axes in grid.flat:
        axes.set_axis_off()
    for head, (axes, share) in enumerate(zip(grid.flat, shares)):
        axes.set_axis_on()
        _draw(axes, share)
        axes.set_title(f"head {head}", fontsize=9)
        axes.tick_params(labelsize=7)
        if has_names:
            _name(axes, pieces)
    return _save(figure, path)


def _draw(axes, shares):
    return axes.imshow(
        shares, cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
    )


def _name(axes, pieces):
    style = {"fontsize": 8, "parse_math": False}
    names = [piece.strip() for piece in pieces]
    axes.set_xticks(range(len(names)), names, rotation=90, **style)
    axes.set_yticks(range(len(names)), names, **style)


def _save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)
    return path
