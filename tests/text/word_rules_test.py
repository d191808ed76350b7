import spacy
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import words

ENGLISH = spacy.blank("en").tokenizer
PARTS = [
    *("'", ".", "...", ":", "'s", "'S", "'em", "''", "-", "@", "$", "%", "<"),
    *("3", "10", "km", "he", "it", "Mr", "St", "foo", "BAR", "I", "goin"),
    *("n't", "can't", "cannot", "won't", "a.m.", "U.S", "o.O", ":o", "=D"),
    *("http://", "www.", ".com", "é", "=", "\\", "&", "’", "°", "€", "日"),
]
pieces = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)
special = st.sampled_from(
    sorted(rule for rule in ENGLISH.rules if not rule.isspace())
)
plain = st.from_regex(r"'?[A-Za-z]{1,9}('s|'|:|\.)?", fullmatch=True)


@settings(max_examples=300)
@given(st.lists(pieces | special | plain, min_size=1, max_size=30))
def test_pieces_are_split_as_by_spacy(given_pieces):
    found, dependent = words.split_pieces(dict.fromkeys(given_pieces))
    assert dependent <= set(given_pieces)
    for piece in given_pieces:
        expected = [token.text.lower() for token in ENGLISH(piece)]
        assert found[piece] == expected


@settings(max_examples=300)
@given(st.lists(pieces | special | plain, min_size=2, max_size=8))
def test_other_pieces_do_not_depend_on_their_neighbours(given_pieces):
    found, dependent = words.split_pieces(dict.fromkeys(given_pieces))
    if dependent:
        return
    together = [t.text.lower() for t in ENGLISH(" ".join(given_pieces))]
    assert together == [word for p in given_pieces for word in found[p]]


def test_a_piece_that_depends_on_its_neighbours_is_named():
    piece = "'em...foo"
    assert [t.text for t in ENGLISH(piece)] == ["'em", "...", "foo"]
    beside = [t.text for t in ENGLISH("boys' " + piece)]
    assert beside == ["boys", "'", "'", "em", "...", "foo"]
    found, dependent = words.split_pieces([piece, "boys'", "foo"])
    assert dependent == {piece}
    assert found["boys'"] == ["boys", "'"]
