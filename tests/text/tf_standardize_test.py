import tensorflow as tf
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from gpt1_keras.text import standardize
from gpt1_keras.text import tf_tokenizer

GRAPH = tf_tokenizer.Standardize()


@tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
def graph(texts):
    return GRAPH(texts)


def in_graph(texts):
    """The pieces and line breaks of each text."""
    found = [text.decode() for text in graph(tf.constant(texts)).numpy()]
    return [text.replace(tf_tokenizer.NEWLINE, "\\n").split() for text in found]


def in_python(texts):
    # ChunkDictionary drops the line breaks at the ends, too.
    found = [
        standardize.standardize(standardize.repair(text).strip())
        for text in texts
    ]
    return [text.replace("\n", "\\n").split() for text in found]


ASCII = st.text(st.characters(max_codepoint=126, exclude_characters="&\\"))
MARKS = st.text("ab .,-–—―…´'‘’“”\"!?()[]{}|_/*~;+\n\r\t 3é<>", max_size=30)


@settings(max_examples=200)
@given(st.lists(ASCII | MARKS, min_size=1, max_size=5))
def test_as_in_python(texts):
    assert in_graph(texts) == in_python(texts)


def test_what_the_graph_knows_of_ftfy():
    texts = [
        "‘curly’ “quotes” ‚low‛ „low‟",
        "a\r\nb\rc\u2028d\u2029e",
        "\x1b[1mbold\x1b[0m and \ufeffmark",
        "Tom &amp; Jerry &lt;3 &quot;quoted&quot; it&#39;s",
        "<b>kept &amp; as it is</b>",
        "ﬁne aﬃx, Ĳssel",
        "ＦＵＬＬ　ｗｉｄｔｈ！",
        "a\u00a0b\u2003c\u3000d",
        "",
        " \n ",
    ]
    assert in_graph(texts) == in_python(texts)


def test_bytes_that_are_no_text():
    (found,) = graph(tf.constant([b"ab\xff\xfe c\x00d"])).numpy()
    assert found.decode() == "ab\ufffd\ufffd cd"
