import pytest
import tokenizers
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import word_piece

PIECES = ["[UNK]", "[NEWLINE]", "a", "b", "##a", "##b", "ab", "##ab", "##bab"]
IDS = {piece: index for index, piece in enumerate(PIECES)}


@settings(max_examples=400)
@given(
    st.text("abc#", min_size=1, max_size=10)
    | st.text("ab", min_size=95, max_size=105)
)
def test_as_hugging_face(word):
    theirs = tokenizers.models.WordPiece(IDS, unk_token="[UNK]")
    expected = tuple(token.id for token in theirs.tokenize(word))
    assert word_piece.WordPiece(IDS).encode_word(word) == expected


@pytest.mark.parametrize(
    "word, expected",
    [
        ("abab", ("ab", "##ab")),
        ("abbab", ("ab", "##bab")),
        ("abc", ("[UNK]",)),
        ("\n", ("[NEWLINE]",)),
        ("a" * 101, ("[UNK]",)),
    ],
)
def test_encode_word(word, expected):
    ids = word_piece.WordPiece(IDS).encode_word(word)
    assert tuple(PIECES[index] for index in ids) == expected


def test_newline_and_other_entries():
    ids = word_piece.WordPiece({"x": 0, "a": 1})
    assert ids.encode_word("\n") == ids.encode_word("b") == (0,)


def test_join():
    join = word_piece.WordPiece(IDS).join
    assert join(["ab", "##ab", "[NEWLINE]", "b"]) == ["abab", "\n", "b"]
    assert join(["##ab"]) == ["##ab"]
