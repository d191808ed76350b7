import keras
import numpy as np
import pytest

from gpt1_keras.layers import attention
from tests.reference import keras_hub_programs
from tests.reference import numpy_gpt1
from tests.reference import small_models

SIZES = {
    "hidden_dim": 8,
    "num_heads": 2,
    "attention_dropout": 0.0,
    "residual_dropout": 0.0,
    "initializer_range": 0.02,
}


def make(**changes):
    layer = attention.CausalSelfAttention(**{**SIZES, **changes})
    layer.build((None, None, 8))
    small_models.randomize(layer)
    return layer


def states(*shape):
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def test_causal_mask():
    mask = keras.ops.convert_to_numpy(attention.causal_mask(3, 3))
    np.testing.assert_array_equal(
        mask,
        [
            [True, False, False],
            [True, True, False],
            [True, True, True],
        ],
    )


def test_causal_mask_of_queries_that_begin_later():
    mask = keras.ops.convert_to_numpy(attention.causal_mask(2, 5, 2))
    np.testing.assert_array_equal(
        mask,
        [
            [True, True, True, False, False],
            [True, True, True, True, False],
        ],
    )


def test_equals_numpy():
    layer, x = make(), states(6, 7, 8)
    arrays = {
        "c_attn/w": small_models.read(layer.query_key_value.kernel),
        "c_attn/b": small_models.read(layer.query_key_value.bias),
        "c_proj/w": small_models.read(layer.output_dense.kernel),
        "c_proj/b": small_models.read(layer.output_dense.bias),
    }
    expected = [
        numpy_gpt1.attention(row, arrays.get, 2) for row in x.astype("f8")
    ]
    np.testing.assert_allclose(small_models.read(layer(x)), expected, atol=1e-5)


def test_no_position_sees_a_later_one():
    layer, x = make(), states(6, 7, 8)
    before = small_models.read(layer(x))
    x[:, 4:] += 100.0
    after = small_models.read(layer(x))
    np.testing.assert_array_equal(after[:, :4], before[:, :4])
    assert np.all(np.any(after[:, 4:] != before[:, 4:], axis=-1))


def test_cache_gives_the_same_as_the_whole():
    layer, x = make(), states(6, 7, 8)
    whole = small_models.read(layer(x))
    cache = keras.ops.zeros((6, 2, 7, 2, 4))
    pieces = []
    for start, end in ((0, 3), (3, 4), (4, 7)):
        piece, cache = layer(
            x[:, start:end], cache=cache, cache_update_index=start
        )
        pieces.append(small_models.read(piece))
    np.testing.assert_allclose(np.concatenate(pieces, axis=1), whole, atol=1e-6)


def test_probabilities_are_dropped_apart_from_outputs():
    for name in ("attention_dropout", "residual_dropout"):
        layer, x = make(**{name: 0.5}), states(6, 7, 8)
        assert len(small_models.draws(layer)) == 1
        still, moved = layer(x), layer(x, training=True)
        zeros = np.mean(small_models.read(moved) == 0)
        assert (0.2 < zeros < 0.8) == (name == "residual_dropout")
        assert np.any(small_models.read(still) != small_models.read(moved))
        assert small_models.draws(layer) == [1]


def test_width_that_heads_do_not_divide():
    with pytest.raises(ValueError, match="hidden_dim 8 .* num_heads 3"):
        make(num_heads=3)


def test_keras_hub_layer_program():
    keras_hub_programs.programs().run_layer_test(
        cls=attention.CausalSelfAttention,
        init_kwargs={
            **SIZES,
            "attention_dropout": 0.1,
            "residual_dropout": 0.1,
        },
        input_data=keras.ops.convert_to_tensor(states(6, 7, 8)),
        expected_output_shape=(6, 7, 8),
        expected_num_trainable_weights=4,
        expected_num_non_trainable_variables=2,
        # Compiling three policies for JAX takes longest and adds nothing.
        run_precision_checks=keras.config.backend() == "tensorflow",
    )
