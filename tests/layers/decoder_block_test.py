import operator

import keras
import numpy as np
import pytest

from gpt1_keras.layers import attention
from gpt1_keras.layers import decoder_block
from tests.reference import numpy_gpt1
from tests.reference import small_models

X = small_models.states(6, 8, 8)


def make(**changes):
    sizes = {
        **{"hidden_dim": 8, "num_heads": 2, "intermediate_dim": 20},
        **{"attention_dropout": 0.0, "residual_dropout": 0.0},
        **{"layer_norm_epsilon": 1e-5, "initializer_range": 0.02},
    }
    return small_models.built(decoder_block.DecoderBlock(**sizes | changes))


# With small inputs, an epsilon other than 1e-5 shows. Of 8 positions, four
# blocks of 2 are the fewest equal ones of at most 3.
@pytest.mark.parametrize(
    "scale, kernel, queries",
    [(1, False, 9), (1, False, 3), (1e-3, False, 9), (1, True, 9)],
)
def test_equals_numpy(scale, kernel, queries, monkeypatch):
    monkeypatch.setattr(attention, "has_kernel", lambda: kernel)
    monkeypatch.setattr(attention, "BLOCK", queries)
    block, x = make(), scale * X
    if scale < 1:
        for weight in block.attention.weights + block.feed_forward.weights:
            weight.assign(scale * small_models.read(weight))
    arrays = {
        name: small_models.read(operator.attrgetter(path)(block))
        for name, path in small_models.BLOCK_NAMES.items()
    }
    expected = [numpy_gpt1.block(row, arrays.get, 2) for row in x.astype("f8")]
    small_models.assert_close(block(x), expected)


def test_each_dropout_has_its_rate():
    block = make(attention_dropout=0.1, residual_dropout=0.2)
    rates = {
        f"{part.name}/{layer.name}": layer.rate
        for part in (block.attention, block.feed_forward)
        for layer in part._flatten_layers()
        if isinstance(layer, keras.layers.Dropout)
    }
    assert rates == {
        "attention/probability_dropout": 0.1,
        "attention/output_dropout": 0.2,
        "feed_forward/output_dropout": 0.2,
    }


def test_the_output_is_dropped():
    layer = make(residual_dropout=0.5).feed_forward
    dropped = small_models.read(layer(X, training=True))
    small_models.assert_half_dropped(dropped, small_models.read(layer(X)))


def test_residual_stream_stays_float32():
    """A bfloat16 stream would lose 2**-12 beside 1."""
    block = make(dtype="mixed_bfloat16")
    for weight in block.attention.weights + block.feed_forward.weights:
        weight.assign(np.zeros(weight.shape, "float32"))
    nudged = X * (1 + 2.0**-12 * np.arange(8, dtype="float32"))
    difference = small_models.read(block(nudged)) - small_models.read(block(X))
    assert np.all(np.any(difference != 0, axis=-1))
