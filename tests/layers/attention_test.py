import keras
import numpy as np
import pytest

from gpt1_keras.layers import attention
from tests.reference import numpy_gpt1
from tests.reference import small_models


def make(**changes):
    layer = attention.CausalSelfAttention(
        **{
            "hidden_dim": 8,
            "num_heads": 2,
            "attention_dropout": 0.0,
            "residual_dropout": 0.0,
            "initializer_range": 0.02,
        }
        | changes
    )
    layer.build((None, None, 8))
    small_models.randomize(layer)
    return layer


@pytest.fixture
def x():
    return small_models.states(6, 7, 8)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ((3, 3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        # Queries that begin at position 2.
        ((2, 5, 2), [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]),
    ],
)
def test_causal_mask(arguments, expected):
    mask = keras.ops.convert_to_numpy(attention.causal_mask(*arguments))
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, expected)


def test_equals_numpy(x):
    layer = make()
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


def test_no_position_sees_a_later_one(x):
    layer = make()
    before = small_models.read(layer(x))
    x[:, 4:] += 100.0
    after = small_models.read(layer(x))
    np.testing.assert_array_equal(after[:, :4], before[:, :4])
    assert np.all(np.any(after[:, 4:] != before[:, 4:], axis=-1))


def test_cache_equals_the_whole_text(x):
    small_models.assert_cached(make(), x, keras.ops.zeros((6, 2, 7, 2, 4)))


@pytest.mark.parametrize("name", ["attention_dropout", "residual_dropout"])
def test_probabilities_and_output_have_dropouts_of_their_own(x, name):
    layer = make(**{name: 0.5})
    still = small_models.read(layer(x))
    moved = small_models.read(layer(x, training=True))
    assert (0.2 < np.mean(moved == 0) < 0.8) == (name == "residual_dropout")
    assert np.any(still != moved)
    assert small_models.draws(layer) == [1]
