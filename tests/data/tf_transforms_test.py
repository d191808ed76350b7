import functools

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies as st

from gpt1_keras.data import tf_transforms
from gpt1_keras.data import transforms

ids = st.lists(st.integers(1, 9), max_size=14)


class Tokenizer:
    start_id, delimiter_id, extract_id = 90, 91, 92


def in_python(name, rows, length):
    found = [
        getattr(transforms, name)(
            *row, tokenizer=Tokenizer, max_sequence_length=length
        )
        for row in rows
    ]
    candidates = [each.candidates for each in found]
    longest = max(len(ids) for each in candidates for ids in each)
    arrays = transforms.pad(candidates, length=longest)
    is_cut = [each.num_cut > 0 for each in found]
    return arrays["token_ids"], arrays["extract_position"], is_cut


@functools.cache
def graph_of(name, length):
    ragged = tf.RaggedTensorSpec([None, None], tf.int32)

    @tf.function(input_signature=[*[ragged] * 3, tf.TensorSpec([], tf.int32)])
    def run(text, text_pair, choices, num_choices):
        return getattr(tf_transforms, name)(
            text=text,
            text_pair=text_pair,
            choices=tf_transforms.Choices(choices, num_choices),
            tokenizer=Tokenizer,
            max_sequence_length=length,
        )

    return run


def in_graph(name, rows, length):
    text, text_pair, choices = zip(*rows, strict=True)
    ragged = [
        tf.ragged.constant(list(map(list, part)), tf.int32, ragged_rank=1)
        for part in (text, text_pair, [c for each in choices for c in each])
    ]
    found = graph_of(name, length)(*ragged, len(choices[0]))
    return [each.numpy() for each in found]


@hypothesis.settings(max_examples=25)
@pytest.mark.parametrize(
    "name, num_choices",
    [
        *(("classification", 0), ("entailment", 0), ("similarity", 0)),
        *(("multiple_choice", 2), ("multiple_choice", 4)),
    ],
)
@hypothesis.given(data=st.data(), length=st.sampled_from([8, 12, 40]))
def test_as_in_python(name, num_choices, data, length):
    row = st.tuples(ids, ids, st.tuples(*[ids] * num_choices))
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    # Without a text, only the question can be cut.
    rows.append(((), [1] * 14, ([2],) * num_choices))
    found = in_graph(name, rows, length)
    np.testing.assert_equal(found, in_python(name, rows, length))
