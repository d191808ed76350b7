"""Log-probabilities and attention of one text, and pages that show them.

Letters: `T` tokens, `L` layers, `H` heads.
"""

import dataclasses
import math
import pathlib

import numpy as np

from gpt1_keras import files
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import tables

_MOST_NAMED = 60  # tokens whose names have room on an axis
_MOST_NAMED_SMALL = 15  # the same where heads stand side by side
_COLUMNS = 3  # of the heads of a layer: legible on a phone
# At this log-probability or less, a token has the full colour.
_SURPRISING = -10.0
SURPRISE_LEGEND = (
    "The darker a token, the less the model expected it: white is certain, the "
    f"full colour a probability of e^{_SURPRISING:.0f} or less. Point at one "
    "for its number. The first is scored as the beginning of a line."
)
ATTENTION_LEGEND = (
    "The darker a token, the more the last layer attends to it from [extract], "
    "where the answer is read. Mean over heads; the darkest token has the "
    "largest share in this example. Point at one for its number."
)


def log_probabilities(causal_lm, ids):
    """Return each token's log-probability given those before, float64 `[T]`."""
    from keras import ops  # a report needs no backend
    from scipy import special

    opening = causal_lm.preprocessor.tokenizer.pipeline.opening_id
    inputs = _batch([opening, *ids[:-1]])
    batch = {"token_ids": inputs, "padding_mask": np.ones_like(inputs)}
    (logits,) = ops.convert_to_numpy(causal_lm(batch))
    rows = special.log_softmax(logits[: len(ids)].astype("float64"), axis=-1)
    return rows[np.arange(len(ids)), ids]


def attention(backbone, ids):
    """Return attention weights, float32 `[L, H, T, T]`, whose rows sum to 1."""
    from keras import ops

    hidden, _, _ = backbone.token_and_position_embedding(_batch(ids))
    layers = []
    for block in backbone.decoder_blocks:
        (found,) = ops.convert_to_numpy(block.attention.probabilities(hidden))
        layers.append(found[:, : len(ids), : len(ids)])
        hidden = block(hidden)
    return np.stack(layers)


def _batch(ids):
    """Return the ids as a batch of one row."""
    # Keras warns about a softmax over one position; padding changes nothing.
    return np.array([ids if len(ids) > 1 else [*ids, 0]], "int32")


@dataclasses.dataclass(frozen=True)
class Text:
    """A titled text of coloured tokens, with sentences below it."""

    title: str
    # (piece, shade from 0 (white) to 1 (full), number to show on hovering)
    tokens: list
    notes: list = dataclasses.field(default_factory=list)


def surprise(pieces, log_probabilities):
    """Return the tokens of `T` pieces; the less probable, the darker."""
    return [
        (
            piece,
            min(value / _SURPRISING, 1.0) if value < 0 else 0.0,
            f"log-probability {value:.2f},"
            f" probability {math.exp(min(value, 0)):.2g}",
        )
        for piece, value in zip(pieces, log_probabilities, strict=True)
    ]


def attended(pieces, shares):
    """Return the tokens of `T` pieces; the larger the share, the darker."""
    largest = max(shares)
    return [
        (piece, share / largest, f"{100 * share:.1f} % of the attention")
        for piece, share in zip(pieces, shares, strict=True)
    ]


def write_page(path, title, introduction, sections):
    """Write a page of HTML or Markdown, by the suffix of `path`; return it.

    HTML includes the pictures; Markdown links to them, and leaves out
    introduction and coloured texts. `sections` is {title: list of `Text`,
    `tables.Table` and `plots.Picture`}.
    """
    page = tables.render(
        pathlib.Path(__file__).with_name(f"page{path.suffix}.jinja"),
        title=title,
        introduction=introduction,
        sections=sections,
        kind=lambda part: type(part).__name__,
        directory=path.parent,
    )
    files.write_atomic(path, page)
    return page


@plots.style
def draw_attention(shares, pieces, path, *, title):
    """Draw the attention `[H, T, T]` of heads, for `T` pieces, side by side."""
    is_one = len(shares) == 1
    columns = min(_COLUMNS, math.ceil(math.sqrt(len(shares))))
    has_names = len(pieces) <= (_MOST_NAMED if is_one else _MOST_NAMED_SMALL)
    unnamed = 6.0 if is_one else 1.2
    side = 1.7 + (0.17 * len(pieces) if has_names else unnamed)  # inches
    figure, grid = plots.panels(len(shares), columns, side, side)
    figure.suptitle(title, fontsize=11)
    names = [piece.strip() for piece in pieces]
    for head, (axes, share) in enumerate(zip(grid, shares)):
        image = axes.imshow(
            share, cmap="Greys", vmin=0, vmax=1, interpolation="nearest"
        )
        axes.tick_params(labelsize=7)
        if not is_one:
            axes.set_title(f"head {head}", fontsize=9)
        if has_names:
            axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
            axes.set_yticks(range(len(names)), names, fontsize=8)
    label = "attention of a row to each column"
    figure.colorbar(image, ax=list(grid), shrink=0.5, label=label)
    plots.save(figure, path)
