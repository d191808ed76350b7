import types

import pytest
import tensorflow as tf

from gpt1_keras.serving import tf_signatures

NETWORK = types.SimpleNamespace(
    backbone=types.SimpleNamespace(
        vocabulary_size=5, num_special_tokens=3, max_sequence_length=4
    )
)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_ids(wrap):
    check = wrap(lambda ids: tf_signatures.check_ids(ids, NETWORK) + 0)
    for good in ([[0, 7]], [[1, 2, 3, 4]], [[]]):
        ids = tf.constant(good, tf.int32)
        assert check(ids).numpy().tolist() == ids.numpy().tolist()
    for bad, message in (
        ([[0, 8]], "token_ids must be 0 to 7"),
        ([[-1]], "token_ids must be 0 to 7"),
        ([[0] * 5], "at most 4 positions"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            check(tf.constant(bad, tf.int32))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_positions(wrap):
    ids = tf.zeros([2, 1, 3], tf.int32)
    check = wrap(lambda places: tf_signatures.check_positions(places, ids) + 0)
    assert check(tf.constant([[0], [2]])).numpy().tolist() == [[0], [2]]
    for bad, message in (
        ([[0], [3]], "less than T"),
        ([[0], [-1]], "must not be negative"),
        ([[0]], "must be .B, C. for"),
        ([[0, 1], [0, 1]], "must be .B, C. for"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            check(tf.constant(bad))
