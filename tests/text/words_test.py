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


def by_spacy(text):
    return [token.text.lower() for token in ENGLISH(text)]


@settings(max_examples=200)
@given(st.lists(pieces | special | plain, min_size=2, max_size=8))
def test_pieces_are_split_as_by_spacy(given_pieces):
    found, dependent = words.split_pieces(dict.fromkeys(given_pieces))
    assert dependent <= set(given_pieces)
    for piece in given_pieces:
        assert found[piece] == by_spacy(piece)
    if not dependent:  # then the neighbours do not matter
        together = by_spacy(" ".join(given_pieces))
        assert together == [word for p in given_pieces for word in found[p]]


def test_a_piece_that_depends_on_its_neighbours_is_named():
    piece = "'em...foo"
    assert by_spacy(piece) == ["'em", "...", "foo"]
    beside = by_spacy("boys' " + piece)
    assert beside == ["boys", "'", "'", "em", "...", "foo"]
    found, dependent = words.split_pieces([piece, "boys'", "foo"])
    assert dependent == {piece} and found["boys'"] == ["boys", "'"]
    assert words.split_pieces([]) == ({}, set())


def test_split_words():
    for text, expected in (
        ("The president", "the president"),
        ("I'm sure he isn't .", "i 'm sure he is n't ."),
        ("Mr. Smith", "mr. smith"),
        # To spaCy "Ill." is a state, "ill." is not: lower case comes after.
        ("Ill.", "ill."),
        ("ill.", "ill ."),
        # A sigma at the end of a word has a form of its own.
        ("ΟΔΟΣ ΟΔΟΣ", "οδος οδος"),
    ):
        assert words.split_words(text) == expected.split()
    assert words.split_words("one \n two") == ["one", "\n", "two"]
    assert words.split_words("") == []
