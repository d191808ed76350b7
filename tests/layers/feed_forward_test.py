import numpy as np

from gpt1_keras.layers import feed_forward
from tests.reference import numpy_gpt1
from tests.reference import small_models


def make(hidden_dim, intermediate_dim, residual_dropout=0.0):
    layer = feed_forward.FeedForward(
        hidden_dim=hidden_dim,
        intermediate_dim=intermediate_dim,
        residual_dropout=residual_dropout,
        initializer_range=0.02,
    )
    layer.build((None, None, hidden_dim))
    small_models.randomize(layer)
    return layer


def test_five_activations():
    layer = make(1, 1)
    for weight in layer.trainable_weights:
        weight.assign(np.full(weight.shape, weight.name == "kernel", "float32"))
    x = np.array([-3.0, -1.0, 0.5, 1.0, 2.0], "float32").reshape(1, 5, 1)
    # The tanh form; the exact one gives -0.00404969 for -3.
    expected = [-0.00363739, -0.15880801, 0.34571401, 0.84119199, 1.95459769]
    got = small_models.read(layer(x))[0, :, 0]
    np.testing.assert_allclose(got, expected, atol=1e-7)


def test_equals_numpy_and_drops_the_output():
    layer, x = make(8, 20, residual_dropout=0.5), small_models.states(6, 7, 8)
    arrays = {
        "c_fc/w": small_models.read(layer.intermediate_dense.kernel),
        "c_fc/b": small_models.read(layer.intermediate_dense.bias),
        "c_proj/w": small_models.read(layer.output_dense.kernel),
        "c_proj/b": small_models.read(layer.output_dense.bias),
    }
    expected = numpy_gpt1.feed_forward(x.astype("f8"), arrays.get)
    whole = small_models.read(layer(x))
    np.testing.assert_allclose(whole, expected, atol=1e-5)
    dropped = small_models.read(layer(x, training=True))
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(dropped[kept], 2 * whole[kept], rtol=1e-4)
    assert small_models.draws(layer) == [1]
