import numpy as np

from gpt1_keras.layers import feed_forward
from tests.reference import small_models


def make(hidden_dim, intermediate_dim):
    layer = feed_forward.FeedForward(
        hidden_dim=hidden_dim,
        intermediate_dim=intermediate_dim,
        residual_dropout=0.5,
        initializer_range=0.02,
    )
    return small_models.built(layer, hidden_dim)


def test_five_activations():
    layer = make(1, 1)
    for weight in layer.trainable_weights:
        weight.assign(np.full(weight.shape, weight.name == "kernel", "float32"))
    x = np.array([-3.0, -1.0, 0.5, 1.0, 2.0], "float32").reshape(1, 5, 1)
    # The tanh form; the exact one gives -0.00404969 for -3.
    expected = [-0.00363739, -0.15880801, 0.34571401, 0.84119199, 1.95459769]
    got = small_models.read(layer(x))[0, :, 0]
    np.testing.assert_allclose(got, expected, atol=1e-7)


def test_the_output_is_dropped():
    layer, x = make(8, 20), small_models.states(6, 7, 8)
    dropped = small_models.read(layer(x, training=True))
    small_models.assert_half_dropped(dropped, small_models.read(layer(x)))
