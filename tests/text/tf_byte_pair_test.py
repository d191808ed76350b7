import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import tf_tokenizer
from tests.reference import released_tokenizer

MERGES = [
    ("a", "b"), ("c", "a</w>"), ("ab", "ab"), ("b", "a"), ("a", "a"),
    ("aa", "aa"), ("ab", "c</w>"), ("é", "a"), ("cc", "cc"), ("c", "c"),
    ("cc", "c</w>"), ("b", "c</w>"), ("a", "bc</w>"),
]  # fmt: skip
PIECES = ["<unk>", *"abcé", *(f"{c}</w>" for c in "abc")] + [
    left + right for left, right in MERGES[:-1] if left + right != "abab"
]
IDS = {piece: i for i, piece in enumerate(PIECES)}


def of(ids=IDS, merges=MERGES):
    model = tf_tokenizer.BytePair(ids, merges)
    return tf.function(
        model.__call__, input_signature=[tf.TensorSpec([None], tf.string)]
    )


ENCODE = of()


def released():
    found = released_tokenizer.ReleasedTokenizer.__new__(
        released_tokenizer.ReleasedTokenizer
    )
    found.ranks = {pair: rank for rank, pair in enumerate(MERGES)}
    found.memory = {}
    return found


RELEASED = released()


@settings(max_examples=300)
@given(st.lists(st.text("aaabbcé?日", min_size=1, max_size=12), max_size=8))
def test_ids_are_those_of_the_released_code(words):
    """Also of pieces that the vocabulary lacks ("abab", "é</w>", "?").

    And of merges in an order that nobody learns.
    """
    expected = [
        [IDS.get(piece, 0) for piece in RELEASED.pieces(word)] for word in words
    ]
    assert ENCODE(tf.constant(words, tf.string)).to_list() == expected


def test_without_merges():
    assert of(merges=[])(tf.constant(["ab"])).to_list() == [
        [IDS["a"], IDS["b</w>"]]
    ]
