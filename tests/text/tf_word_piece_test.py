import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import tf_tokenizer
from gpt1_keras.text import word_piece

PIECES = [
    *("[UNK]", "[NEWLINE]", "a", "b", "ab", "##a", "##b", "##ab", "##bb"),
    *("é", "##é", "日", "aab", "##aba"),
]
PYTHON = word_piece.WordPiece({piece: i for i, piece in enumerate(PIECES)})
GRAPH = tf.function(
    tf_tokenizer.WordPiece(PIECES).__call__,
    input_signature=[tf.TensorSpec([None], tf.string)],
)


@settings(max_examples=200)
@given(st.lists(st.text("aabbé日?", min_size=1, max_size=12), max_size=8))
def test_as_in_python(words):
    expected = [list(PYTHON.encode_word(word)) for word in words]
    assert GRAPH(tf.constant(words, tf.string)).to_list() == expected


def test_the_longest_word():
    words = ["é" * 100, "é" * 101]
    known, unknown = GRAPH(tf.constant(words)).to_list()
    assert known == list(PYTHON.encode_word(words[0])) and len(known) == 100
    assert unknown == [word_piece.UNKNOWN_ID]
