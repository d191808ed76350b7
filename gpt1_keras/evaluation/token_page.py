"""Texts as coloured tokens: a page that opens without a network."""

import dataclasses
import math

from gpt1_keras import files
from gpt1_keras.evaluation import templates

_LINE_BREAK = "\u23ce"
# A token of this log-probability, or a lower one, has the full colour.
_SURPRISING = -10.0
SURPRISE_LEGEND = (
    "The darker a token, the less the model expected it: white is certain, the "
    f"full colour a probability of e^{_SURPRISING:.0f} or less. Touch one for "
    "its number."
)
ATTENTION_LEGEND = (
    "The darker a token, the more the last layer attends to it from [extract], "
    "where the answer is read; mean over heads, the darkest is the largest "
    "share in this example. Touch one for its number."
)


@dataclasses.dataclass(frozen=True)
class Token:
    """One token.

    Attributes:
        piece: str, as it is read.
        shade: float, 0 (white) to 1 (full colour).
        note: str, its number in words.
    """

    piece: str
    shade: float
    note: str

    @property
    def ends_line(self):
        """Whether the next token stands on a new line."""
        return self.piece.strip() == _LINE_BREAK


@dataclasses.dataclass(frozen=True)
class Text:
    """A text.

    Attributes:
        title: str.
        tokens: list of `Token`.
        notes: list of str, sentences below it.
    """

    title: str
    tokens: list
    notes: list = dataclasses.field(default_factory=list)


def surprise(pieces, log_probabilities):
    """Return `Token`s, the darker the less probable each one was.

    Args:
        pieces: `T` str.
        log_probabilities: `T` floats.
    """
    return [
        Token(
            piece,
            min(value / _SURPRISING, 1.0) if value < 0 else 0.0,
            f"log-probability {value:.2f}, probability {math.exp(value):.2g}",
        )
        for piece, value in zip(pieces, log_probabilities, strict=True)
    ]


def attended(pieces, shares):
    """Return `Token`s, the darker the larger the share of the attention.

    Args:
        pieces: `T` str.
        shares: `T` floats that add up to one.
    """
    largest = max(shares, default=1)
    return [
        Token(piece, share / largest, f"{100 * share:.1f} % of the attention")
        for piece, share in zip(pieces, shares, strict=True)
    ]


def write(path, texts, *, title, legend):
    """Write the page.

    Args:
        path: pathlib.Path of the HTML file.
        texts: list of `Text`.
        title: str.
        legend: str, what the colour means.

    Returns:
        `path`.
    """
    page = templates.render(
        "token_page.html.jinja", texts=texts, title=title, legend=legend
    )
    files.write_atomic(path, page)
    return path
