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


def test_encode_and_join():
    model = word_piece.WordPiece(IDS)
    for word, expected in (
        ("abab", ("ab", "##ab")),
        ("abbab", ("ab", "##bab")),
        ("abc", ("[UNK]",)),
        ("\n", ("[NEWLINE]",)),
        ("a" * 101, ("[UNK]",)),
    ):
        ids = model.encode_word(word)
        assert tuple(PIECES[index] for index in ids) == expected
    other = word_piece.WordPiece({"[UNK]": 0, "a": 1})
    assert other.encode_word("\n") == other.encode_word("b") == (0,)
    assert model.join(["ab", "##ab", "[NEWLINE]", "b"]) == ["abab", "\n", "b"]
    assert model.join(["##ab"]) == ["##ab"]
