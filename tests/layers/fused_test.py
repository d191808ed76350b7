import numpy as np
import pytest
from keras import ops

from gpt1_keras.layers import attention
from gpt1_keras.layers import decoder_block
from gpt1_keras.layers import dropout
from gpt1_keras.layers import feed_forward
from gpt1_keras.layers import fused
from tests.reference import small_models


def example(*shape, seed=0):
    draws = np.random.default_rng(seed).normal(size=shape)
    return ops.convert_to_tensor(draws.astype("float32"))


SOURCE = dropout.Dropout(0.25, seed=1).draw((2, 3, 5, 5))
CHAINS = {
    "gelu": (feed_forward._gelu, [example(4, 6)]),
    "norm": (
        decoder_block._add_norm(1e-5),
        [example(4, 6), example(4, 6, seed=1), example(6), example(6, seed=2)],
    ),
    "softmax": (
        attention._softmax("float32"),
        [example(2, 3, 5, 5), attention.causal_mask(5)],
    ),
    "softmax with dropout": (
        attention._softmax("float32", 0.25),
        [example(2, 3, 5, 5), attention.causal_mask(5), SOURCE],
    ),
    "dropout": (dropout._fused_drop(0.25), [example(2, 3, 5, 5), SOURCE]),
    "heads": (attention._to_front, [example(2, 5, 3, 2, 4)]),
}


def is_compiled(function, arguments, training):
    """Whether XLA compiles a part of the graph of a call."""
    import tensorflow as tf

    graph = tf.function(
        lambda *tensors: function(*tensors, training=training)
    ).get_concrete_function(*arguments)
    return "_XlaMustCompile" in str(graph.graph.as_graph_def())


@pytest.mark.only_on("tensorflow")
def test_small_tensors_are_not_compiled():
    import tensorflow as tf

    def of(*shape):
        spec = [tf.TensorSpec(shape)]
        return is_compiled(feed_forward._gelu, spec, training=True)

    assert of(256, 256)
    assert of(None, 256)  # as 256 rows
    assert not of(255, 256) and not of(None, 255)


@pytest.mark.only_on("tensorflow")
@pytest.mark.parametrize("bias_axes", [0, 1, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_the_loop_has_the_value_and_the_gradient_of_the_chain(
    name, bias_axes, monkeypatch
):
    import tensorflow as tf

    monkeypatch.setattr(fused, "SMALLEST", 0)
    function, arguments = CHAINS[name]
    arguments = list(map(tf.convert_to_tensor, arguments))
    if bias_axes:
        arguments.append(example(*arguments[0].shape[-bias_axes:], seed=3))
        chain, function = (
            function,
            lambda *arguments, training: chain(
                *arguments[:-1], bias=arguments[-1], training=training
            ),
        )
    assert is_compiled(function, arguments, training=True)
    assert not is_compiled(function, arguments, training=False)
    floats = [a for a in arguments if a.dtype.is_floating]

    def differentiate(training):
        with tf.GradientTape() as tape:
            tape.watch(floats)
            value = function(*arguments, training=training)
            upstream = tf.reshape(tf.range(tf.size(value)), tf.shape(value))
            loss = tf.reduce_sum(value * tf.cast(upstream, value.dtype))
        return value, *tape.gradient(loss, floats)

    # Gradients are differences of terms as large as the number of values.
    for plain, loop in zip(differentiate(False), differentiate(True)):
        np.testing.assert_allclose(loop, plain, rtol=1e-4, atol=5e-5)


def test_dropout_is_unbiased_in_bfloat16():
    x = 1.0 + np.random.default_rng(0).random((1000, 1000))
    layer = dropout.Dropout(0.1, seed=1, dtype="bfloat16")
    x = ops.cast(ops.convert_to_tensor(x.astype("float32")), "bfloat16")
    dropped = layer(x, training=True)
    got, x = small_models.read(dropped), small_models.read(x)
    # A million draws: four standard deviations are 0.0012. Keras's own layer
    # drops 0.1017 and multiplies by 1.1094.
    assert abs(np.mean(got == 0) - 0.1) < 0.0012
    kept = got != 0
    assert np.mean(got[kept]) / np.mean(x[kept]) == pytest.approx(1 / 0.9, 2e-4)
