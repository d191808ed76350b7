import textwrap

import hypothesis
from hypothesis import strategies as st

from gpt1_keras.data import paragraphs

SENTENCES = (
    "It was a bright cold day in the little town, and the clocks were striking "
    "thirteen while the old man walked slowly down the street. He had lost his "
    "hat, which was no small matter to him; and the wind, which had been rising "
    "since noon, blew dust into his eyes. "
)
BODY = SENTENCES.strip()
RUSSIAN = (
    "Он вышел из дома рано утром и долго шёл по дороге через тёмный лес. " * 4
)
RUSSIAN = RUSSIAN.strip()
WORDS = "the of a wandering sea, went Mary home; under".split()


def wrapped(paragraph, width=72):
    return textwrap.fill(paragraph.strip(), width, break_on_hyphens=False)


def clean(*blocks):
    """The paragraphs of a book of blocks."""
    lines = paragraphs.split_lines("\n\n".join(blocks))
    width = paragraphs.measure_width(lines)
    return list(paragraphs.paragraphs(lines, width, is_start=True))


@hypothesis.settings(max_examples=60)
@hypothesis.given(
    st.lists(
        st.lists(st.sampled_from(WORDS), min_size=80, max_size=200),
        min_size=1,
        max_size=5,
    ),
    st.integers(50, 78),
)
def test_unwrapping_inverts_wrapping(words, width):
    plain = [" ".join(each) + "." for each in words]
    lines = textwrap.wrap(plain[0], width)
    measured = paragraphs.measure_width(lines)
    assert width - 9 <= measured <= width
    assert paragraphs.unwrap(lines, measured) == plain[:1]
    text = [textwrap.fill(paragraph, width) for paragraph in plain]
    assert clean(*text) == plain
    assert clean("\n\n".join(text).replace("\n", "\r\n")) == plain


LETTER = textwrap.indent(textwrap.fill(BODY, 66), "      ")
VERSE = "  The fair breeze blew, the white foam flew,\n  The furrow followed free;\n  We were the first that ever burst\n  Into that silent sea."
START = "*** START OF THE PROJECT GUTENBERG EBOOK TOM ***"
END = "*** END OF THIS PROJECT GUTENBERG EBOOK TOM ***"
BOOKS = {
    "title page, contents and illustrations": (
        [
            "THE OLD MAN",
            "                  By\n             JOHN DOE",
            "_Copyright, 1901, by John Doe_",
            "LONDON\nSMITH AND SON, PUBLISHERS\n1901",
            "CONTENTS",
            "     I. THE STREET                                          1",
            "    II. THE HAT, AND WHAT BECAME OF IT IN THE END, WITH SOME\n          REMARKS                                          17",
            "[Illustration: The old man stands in the street and looks for\nhis hat]",
            "CHAPTER I", wrapped(BODY),
            "       *       *       *       *       *", "[Illustration]", wrapped(BODY * 2),
            "CHAPTER II", "“Stop!” cried he.", wrapped(BODY),
        ],
        [BODY, BODY * 2, "CHAPTER II", "“Stop!” cried he.", BODY],
    ),
    "contents after a preface": (
        ["PREFACE", wrapped(BODY), "CONTENTS", "I. HERE  1", "II. THERE  20", "I", wrapped(BODY)],
        [BODY, BODY],
    ),
    "dialogue at the beginning": (
        ["TOM", "By SOMEBODY", "CHAPTER I", "“Tom!”  he called.", "No answer.", wrapped(BODY), wrapped(BODY)],
        ["“Tom!” he called.", "No answer.", BODY, BODY],
    ),
    "Gutenberg": (
        ["The Project Gutenberg eBook of Tom", START, wrapped(BODY), wrapped(BODY), END, wrapped(BODY)],
        [BODY, BODY],
    ),
    "italics, footnotes and hyphens": (
        [wrapped(f"{BODY} His _dear,old_, self-made friend[12] came."), wrapped(BODY)],
        [f"{BODY} His dear,old, self-made friend came.", BODY],
    ),
    "verse": (
        [wrapped(BODY), wrapped(BODY), VERSE, wrapped(BODY)],
        [BODY, BODY, *map(str.strip, VERSE.split("\n")), BODY],
    ),
    "an indented letter": ([wrapped(BODY * 2), LETTER, wrapped(BODY)], [BODY * 2, BODY, BODY]),
    "no blank lines": (
        [wrapped(f"{BODY} So it ended, and that was all of it.") + "\n" + wrapped(f"Now it began. {BODY} The end.")],
        [f"{BODY} So it ended, and that was all of it.", f"Now it began. {BODY} The end."],
    ),
    "another script": (
        [wrapped(f"{RUSSIAN} Так всё и кончилось.") + "\n" + wrapped(f"Теперь началось другое. {RUSSIAN} Конец.")],
        [f"{RUSSIAN} Так всё и кончилось.", f"Теперь началось другое. {RUSSIAN} Конец."],
    ),
    "no prose": (["CONTENTS", wrapped(BODY[:-1]), wrapped(BODY[:-1])], ["CONTENTS", BODY[:-1], BODY[:-1]]),
}  # fmt: skip
ONE_PARAGRAPH_PER_LINE = [
    "A cat sat on the mat.\nThe dog ran home.\nIt rained all day long in the town.\n" * 40,
    "first story about a cat\nanother one\n\nthe third, which is longer than the others\n" * 40,
    "the cat sat\na very long walk through the woods it was\nno\n" * 50,
    "one paragraph\n\nanother one of them\n\n" * 20,
    (SENTENCES + "\n") * 5,
    "CONTENTS\nBy me\nsnake_case and other_words [1]\nCopyright 1920\n",
    *("short", ""),
]  # fmt: skip


def test_clean():
    for name, (blocks, expected) in BOOKS.items():
        assert clean(*blocks) == expected, name
    for text in ONE_PARAGRAPH_PER_LINE:
        assert paragraphs.measure_width(text.split("\n")) is None
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        assert clean(text) == lines
    # A hyphen joins two lines, a dash between spaces does not.
    assert paragraphs.unwrap(["a -", "b-", "c"], 70) == ["a - b-c"]
