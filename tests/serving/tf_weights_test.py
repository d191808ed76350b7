import keras
import numpy as np
import pytest
import tensorflow as tf

from gpt1_keras.serving import tf_signatures


@pytest.fixture
def network():
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(5, activation="tanh")(inputs)
    outputs = keras.layers.Dense(2)(keras.layers.Dropout(0.5)(hidden))
    return keras.Model(inputs, outputs)


X = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def test_float32_is_the_network_without_dropout(network):
    frozen = tf_signatures.FrozenNetwork(network)
    np.testing.assert_array_equal(frozen(X), network(X, training=False))


def test_float16_is_the_network_with_rounded_weights(network):
    frozen = tf_signatures.FrozenNetwork(network, "float16")
    before = network(X)
    for variable in network.trainable_variables:
        rounded = np.asarray(variable).astype("float16").astype("float32")
        variable.assign(rounded)
    np.testing.assert_array_equal(frozen(X), network(X))
    assert np.abs(frozen(X) - before).max() > 0


def test_it_is_saved_without_keras(network, tmp_path):
    frozen = tf_signatures.FrozenNetwork(network, "float16")
    frozen.run = tf.function(
        frozen.__call__, input_signature=[tf.TensorSpec([None, 4])]
    )
    tf.saved_model.save(frozen, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    np.testing.assert_allclose(loaded.run(X), frozen(X), atol=1e-6)
    assert not (tmp_path / "keras_metadata.pb").exists()
