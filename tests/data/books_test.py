import textwrap

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.data import books
from gpt1_keras.errors import InputError

SENTENCES = (
    "It was a bright cold day in the little town, and the clocks were striking "
    "thirteen while the old man walked slowly down the street. He had lost his "
    "hat, which was no small matter to him; and the wind, which had been rising "
    "since noon, blew dust into his eyes. "
)


def wrapped(paragraph, width=72):
    return textwrap.fill(paragraph.strip(), width, break_on_hyphens=False)


def novel(*blocks):
    return "\n\n".join(blocks) + "\n"


def test_unwraps_paragraphs():
    first = (SENTENCES * 2).strip()
    text = novel(wrapped(first), wrapped("“No,” said he. " + first))
    assert books.clean(text) == f"{first}\n“No,” said he. {first}"


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                "the of a wandering sea, went Mary home; under".split()
            ),
            min_size=60,
            max_size=200,
        ),
        min_size=2,
        max_size=6,
    ),
    st.integers(50, 78),
)
def test_unwrapping_inverts_wrapping(paragraphs, width):
    plain = [" ".join(words) + "." for words in paragraphs]
    text = "\n\n".join(textwrap.fill(p, width) for p in plain)
    assert books.measure_width(text.split("\n")) is not None
    assert books.clean(text).split("\n") == plain


def test_drops_title_page_contents_and_illustrations():
    body = SENTENCES.strip()
    text = novel(
        "THE OLD MAN",
        "                  By\n             JOHN DOE",
        "_Copyright, 1901, by John Doe_",
        "LONDON\nSMITH AND SON, PUBLISHERS\n1901",
        "CONTENTS",
        "     I. THE STREET                                          1",
        "    II. THE HAT, AND WHAT BECAME OF IT IN THE END, WITH SOME\n          REMARKS                                          17",
        "[Illustration: The old man stands in the street and looks for\nhis hat]",
        "CHAPTER I",
        wrapped(body),
        "       *       *       *       *       *",
        "[Illustration]",
        wrapped(body * 2),
        "CHAPTER II",
        "“Stop!” cried he.",
        wrapped(body),
    )
    assert books.clean(text) == "\n".join(
        [body, body * 2, "CHAPTER II", "“Stop!” cried he.", body]
    )


def test_contents_after_a_preface_go_too():
    body = wrapped(SENTENCES)
    text = novel(
        "PREFACE", body, "CONTENTS", "I. HERE  1", "II. THERE  20", "I", body
    )
    assert books.clean(text) == f"{SENTENCES.strip()}\n{SENTENCES.strip()}"


def test_a_book_that_opens_with_dialogue():
    body = wrapped(SENTENCES)
    text = novel(
        "TOM",
        "By SOMEBODY",
        "CHAPTER I",
        "“Tom!”  he called.",
        "No answer.",
        body,
        body,
    )
    assert books.clean(text).split("\n")[:2] == [
        "“Tom!” he called.",
        "No answer.",
    ]


def test_gutenberg_markers():
    body = wrapped(SENTENCES)
    text = novel(
        "The Project Gutenberg eBook of Tom",
        "*** START OF THE PROJECT GUTENBERG EBOOK TOM ***",
        body,
        body,
        "*** END OF THE PROJECT GUTENBERG EBOOK TOM ***",
        body,
    )
    assert books.clean(text) == f"{SENTENCES.strip()}\n{SENTENCES.strip()}"


def test_italics_footnote_marks_and_hyphens():
    body = (
        SENTENCES
        + "He thought of his _dear, _ old, self-made friend[12] in Paris."
    )
    text = novel(wrapped(body).replace("dear, ", "dear,"), wrapped(SENTENCES))
    assert "his dear, old, self-made friend in Paris." in books.clean(text)
    lines = [
        "and it was so far from the truth that even the most self-",
        "satisfied of men would have doubted it, and not without some",
    ]
    assert "self-satisfied" in books.unwrap(lines, 62)[0]


def test_verse_keeps_its_lines():
    verse = "  The fair breeze blew, the white foam flew,\n  The furrow followed free;\n  We were the first that ever burst\n  Into that silent sea."
    body = wrapped(SENTENCES)
    text = novel(body, body, verse, body)
    assert books.clean(text).split("\n")[2:6] == [
        line.strip() for line in verse.split("\n")
    ]


def test_an_indented_letter_is_prose():
    letter = textwrap.indent(textwrap.fill(SENTENCES.strip(), 66), "      ")
    text = novel(wrapped(SENTENCES * 2), letter, wrapped(SENTENCES))
    assert books.clean(text).split("\n")[1] == SENTENCES.strip()


def test_paragraphs_without_blank_lines():
    first = SENTENCES + "So it ended, and that was all of it."
    second = "Now it began. " + SENTENCES + "The end."
    text = wrapped(first) + "\n" + wrapped(second) + "\n"
    assert books.clean(text) == f"{first}\n{second}"


@pytest.mark.parametrize(
    "text",
    [
        "A cat sat on the mat.\nThe dog ran home.\nIt rained all day long in the town.\n"
        * 40,
        "first story about a cat\nanother one\n\nthe third, which is longer than the others\n"
        * 40,
        (SENTENCES + "\n") * 5,
        "CONTENTS\nBy me\nsnake_case and other_words [1]\nCopyright 1920\n",
        "short",
    ],
)
def test_one_paragraph_per_line_passes_unharmed(text):
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert books.clean(text) == "\n".join(lines)


def test_windows_line_ends():
    text = novel(wrapped(SENTENCES * 2), wrapped(SENTENCES))
    assert books.clean(text.replace("\n", "\r\n")) == books.clean(text)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \r\n\t\n", "empty"),
        (b"caf\xe9 au lait", "not UTF-8"),
        ("long ".encode() * 300_000 + b"\xc3", "not UTF-8"),
        ("text".encode("utf-16"), "UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "binary"),
    ],
)
def test_broken_books_are_named(tmp_path, content, reason):
    path = tmp_path / "broken.txt"
    path.write_bytes(content)
    with pytest.raises(books.BrokenBook, match=reason):
        books.read_book(path)


def test_reads_utf8_across_blocks(tmp_path):
    path = tmp_path / "book.txt"
    text = "a" + "é" * (1 << 20)
    path.write_text("\ufeff" + text, "utf-8")
    assert books.read_book(path) == text


def test_finds_books(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/b.txt", "in/deep/a.TXT", "in/.hidden.txt", "in/c.md"):
        (tmp_path / name).write_text("text")
    found = books.find_books([tmp_path / "in"])
    assert list(found) == ["b.txt", "deep/a.TXT"]
    assert list(books.find_books([tmp_path / "in" / "c.md"])) == ["c.md"]


def test_find_books_refuses(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        books.find_books([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="holds no .txt"):
        books.find_books([tmp_path])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.txt").write_text(name)
    with pytest.raises(InputError, match="same name"):
        books.find_books([tmp_path / "one", tmp_path / "two"])


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("piece_bytes", [300, 1000, 5000, 10**6])
def test_pieces_join_to_the_whole(tmp_path, ending, piece_bytes):
    text = novel(*[wrapped(f"Paragraph {i}: é {SENTENCES}") for i in range(20)])
    path = tmp_path / "book.txt"
    path.write_bytes(("\ufeff" + text).replace("\n", ending).encode("utf-8"))
    pieces = books.cut(path, piece_bytes)
    assert len(pieces) == 1 if piece_bytes == 10**6 else len(pieces) > 1
    width = books.head_width(path)
    joined = [p for piece in pieces for p in books.read_piece(piece, width)]
    assert "\n".join(joined) == books.clean(text)


def test_one_endless_line_is_cut_at_a_space(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("word " * 600_000)
    pieces = books.cut(path, 500_000)
    assert len(pieces) > 3
    assert all((piece.end - piece.start) % 5 == 0 for piece in pieces)
    path.write_text("x" * (3 << 20))
    with pytest.raises(InputError, match="no space"):
        books.cut(path, 512)
