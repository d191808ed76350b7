import textwrap

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.data import books

PROSE = (
    "It was a bright cold day in the little town, and the clocks were striking "
    "thirteen while the old man walked slowly down the street; he had lost his hat"
)
WORDS = "the of a wandering sea, went Mary home; under".split()


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(WORDS), min_size=80, max_size=200),
    st.integers(50, 78),
)
def test_finds_the_width_and_inverts_wrapping(words, width):
    text = " ".join(words)
    lines = textwrap.wrap(text, width)
    measured = books.measure_width(lines)
    assert width - 9 <= measured <= width
    assert books.unwrap(lines, measured) == [text]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["one line"],
        [PROSE * 3, "", PROSE * 2],
        ["A cat sat on the mat.", "The dog ran home.", "It rained all the day."]
        * 50,
        ["the cat sat", "a very long walk through the woods it was", "no"] * 50,
        ["one paragraph", "", "another one of them", ""] * 20,
    ],
)
def test_one_paragraph_per_line(lines):
    assert books.measure_width(lines) is None


@pytest.mark.parametrize(
    ("block", "paragraphs"),
    [
        # A short line that ends a sentence ends a paragraph.
        (
            [
                "and so the long walk came to an end, just as the sun",
                "went down.",
                "Then a new day began, and with it the same long road",
                "again.",
            ],
            [
                "and so the long walk came to an end, just as the sun went down.",
                "Then a new day began, and with it the same long road again.",
            ],
        ),
        # A full line that ends a sentence does not.
        (
            [
                "and so the long walk came to an end with the sunset.",
                "Then a new day began, and with it the same long road",
            ],
            [
                "and so the long walk came to an end with the sunset. "
                "Then a new day began, and with it the same long road"
            ],
        ),
        # Verse.
        (
            [
                "  The fair breeze blew,",
                "    The furrow followed free;",
                "  We were",
            ],
            ["The fair breeze blew,", "The furrow followed free;", "We were"],
        ),
        # A hyphen of a compound, and a dash.
        (
            [
                "and even the most easily contented of all these self-",
                "satisfied men would have doubted it--he thought, and--",
                "stopped",
            ],
            [
                "and even the most easily contented of all these self-satisfied "
                "men would have doubted it--he thought, and--stopped"
            ],
        ),
        # Italics over a line's end, footnote marks, blanks for names.
        (
            ["  from _Le Rouge[12] et", "le Noir_, by Mr. ____{3}"],
            ["from Le Rouge et le Noir, by Mr. ____"],
        ),
        (["___"], ["___"]),
        (["[*]"], []),
    ],
)
def test_blocks(block, paragraphs):
    assert books.unwrap(block, 52) == paragraphs
