import tensorflow as tf
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import tf_words
from gpt1_keras.text import words as words_lib
from tests.text import words_test

PARTS = [
    *words_test.PARTS,
    *("^", "°C.", "£3", "#", "US$", "+", "3+", "km²", "...foo"),
    *("a.B", "x:y", "1-2-3", "a-b-c"),
]
pieces = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join)
any_text = st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12
).filter(lambda text: text.split() == [text])


split = tf.function(
    tf_words.WordRules().__call__,
    input_signature=[tf.TensorSpec([None], tf.string)],
)


def words_of(pieces):
    found = split(tf.constant(list(pieces), tf.string)).to_list()
    return [[word.decode() for word in words] for words in found]


@settings(max_examples=200)
@example(["standards''", "''", "10km", "$47.98", "a.m.", "x.com", "-"])
@given(
    st.lists(pieces | words_test.special, min_size=1, max_size=30, unique=True)
)
def test_pieces_are_split_as_by_spacy(given_pieces):
    """But for those of which spaCy rejoins words afterwards."""
    _, rejoined = words_lib.split_pieces(dict.fromkeys(given_pieces))
    for piece, found in zip(given_pieces, words_of(given_pieces), strict=True):
        if piece not in rejoined:
            assert found == words_test.by_spacy(piece)


def test_two_words_that_spell_a_special_case():
    given = ["standards''", "$$a.", "$a.''", "''''", "°c.", "(°C.)", "x°c."]
    assert words_of(given) == list(map(words_test.by_spacy, given))


@settings(max_examples=100)
@given(st.lists(any_text, max_size=8))
def test_nothing_is_lost(given_pieces):
    for piece, found in zip(given_pieces, words_of(given_pieces), strict=True):
        assert "".join(found) and all(found)
        if words_test.ENGLISH.rules.get(piece) is None and piece.isascii():
            assert "".join(found) == piece.lower()


def test_a_long_piece_is_cut_and_ends():
    (found,) = words_of(["(" * 1000])
    assert "".join(found) == "(" * 1000
    (found,) = words_of(["x" * 600])
    assert [len(word) for word in found] == [256, 256, 88]
