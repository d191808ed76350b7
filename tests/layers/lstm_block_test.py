import numpy as np
from keras import ops

from gpt1_keras.layers import lstm_block
from tests.reference import small_models


def block(**changes):
    layer = lstm_block.LSTMBlock(
        **{"hidden_dim": 6, "num_units": 5, "residual_dropout": 0.0}
        | {"initializer_range": 0.02}
        | changes
    )
    layer.build((None, None, 6))
    small_models.randomize(layer)
    return layer


def test_no_position_sees_a_later_one():
    layer, x = block(), small_models.states(2, 7, 6)
    changed = x.copy()
    changed[:, 4:] += 1.0
    ours, theirs = (small_models.read(layer(each)) for each in (x, changed))
    np.testing.assert_allclose(ours[:, :4], theirs[:, :4], atol=1e-6)
    assert np.abs(ours[:, 4:] - theirs[:, 4:]).min() > 1e-4


def test_cache_equals_the_whole_text():
    x = small_models.states(2, 7, 6)
    small_models.assert_cached(block(), x, ops.zeros((2, 2, 7, 1, 5)))
