"""Held to the plain softmax cross-entropy, written in float64 numpy."""

import functools

import hypothesis
import keras
import numpy as np
import pytest
from hypothesis import strategies as st
from keras import ops
from scipy import special

from gpt1_keras.training import chunked_softmax

N, D, R = 13, 5, 9


def plain(hidden, table, targets, weights):
    """Return loss, its gradients for hidden and table, and log p `[N]`."""
    hidden, table = hidden.astype("float64"), table.astype("float64")
    log_p = special.log_softmax(hidden @ table.T, axis=1)
    chosen = log_p[np.arange(len(targets)), targets]
    error = (np.exp(log_p) - np.eye(len(table))[targets]) * weights[:, None]
    return -(weights * chosen).sum(), error @ table, error.T @ hidden, chosen


def example(seed=0, weights=None):
    draws = np.random.default_rng(seed)
    if weights is None:
        weights = draws.random(N) * (draws.random(N) < 0.6)
    return (
        draws.normal(size=(N, D)).astype("float32"),
        draws.normal(size=(R, D)).astype("float32"),
        draws.integers(R, size=N).astype("int32"),
        np.asarray(weights, "float32"),
    )


@functools.cache
def compiled(chunk_size):
    """Return a function to loss and gradients, compiled where that exists."""

    def function(hidden, table, targets, weights, scale):
        return scale * chunked_softmax.cross_entropy(
            hidden, table, targets, weights, chunk_size=chunk_size
        )

    backend = keras.config.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        @tf.function
        def differentiate(hidden, table, *others):
            with tf.GradientTape() as tape:
                tape.watch([hidden, table])
                loss = function(hidden, table, *others)
            return loss, tape.gradient(loss, [hidden, table])

        return differentiate
    if backend == "jax":
        import jax

        return jax.jit(jax.value_and_grad(function, argnums=(0, 1)))

    def differentiate(hidden, table, *others):
        inputs = [hidden.requires_grad_(), table.requires_grad_()]
        loss = function(*inputs, *others)
        loss.backward()
        return loss.detach(), [x.grad for x in inputs]

    return differentiate


@hypothesis.settings(max_examples=20)
@hypothesis.example(weights=[0.0] * N, chunk_size=5, scale=1.0)
@hypothesis.example(weights=[0.0, *[1.0] * (N - 1)], chunk_size=4, scale=-2.5)
@hypothesis.given(
    weights=st.lists(
        st.one_of(st.just(0.0), st.floats(0.125, 4.0, width=32)),
        min_size=N,
        max_size=N,
    ),
    chunk_size=st.sampled_from([1, 5, N, 20]),
    scale=st.sampled_from([1.0, -2.5]),
)
def test_equals_the_plain_loss_and_its_gradient(weights, chunk_size, scale):
    """Times what comes from above; tokens without weight are not looked at."""
    hidden, *others = example(weights=weights)
    expected = plain(hidden, *others)[:3]
    hidden = np.where(others[-1][:, None] == 0, np.nan, hidden)
    tensors = map(ops.convert_to_tensor, (hidden, *others, np.float32(scale)))
    loss, gradients = compiled(chunk_size)(*tensors)
    for found, value in zip((loss, *gradients), expected, strict=True):
        found = ops.convert_to_numpy(found)
        np.testing.assert_allclose(found, scale * value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chunk_size", [1, 4, N, 40])
def test_log_probabilities(chunk_size):
    hidden, table, targets, weights = example()
    best = (hidden @ table.T).argmax(-1)
    # Of half of the tokens the target is the likeliest.
    targets = np.where(np.arange(N) % 2, best, targets).astype(targets.dtype)
    targets[weights == 0] = 0  # the likeliest where nothing is computed
    *_, expected = plain(hidden, table, targets, weights)
    hidden = np.where(weights[:, None] == 0, np.nan, hidden)
    found, likeliest = chunked_softmax.log_probabilities(
        *map(ops.convert_to_tensor, (hidden, table, targets, weights)),
        chunk_size=chunk_size,
    )
    found = ops.convert_to_numpy(found)
    assert found.shape == (N,)
    expected = np.where(weights == 0, 0.0, expected)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_equal(
        ops.convert_to_numpy(likeliest), (weights != 0) & (best == targets)
    )


def test_products_in_the_dtype_of_the_table():
    """bfloat16 products, float32 softmax: within bfloat16's 8 bits."""
    hidden, table, targets, weights = example()
    loss, *_ = plain(hidden, table, targets, weights)
    found = chunked_softmax.cross_entropy(
        ops.convert_to_tensor(hidden),
        ops.cast(table, "bfloat16"),
        ops.convert_to_tensor(targets),
        ops.convert_to_tensor(weights),
        chunk_size=4,
    )
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    assert float(found) == pytest.approx(loss, rel=2e-2)


@pytest.mark.only_on("jax")
def test_where_jax_has_64_bits():
    import jax

    with jax.enable_x64(True):
        test_products_in_the_dtype_of_the_table()


@pytest.mark.only_on("tensorflow")
@pytest.mark.parametrize("jit_compile", [False, True])
def test_graphs_of_any_number_of_tokens(jit_compile):
    """One graph, whose chunks follow the tokens at hand."""
    import tensorflow as tf

    _, table, _, _ = example()
    arguments = {"table": table, "chunk_size": 32}

    @tf.function(
        jit_compile=jit_compile,
        input_signature=[
            tf.TensorSpec((None, D)),
            tf.TensorSpec((None,), "int32"),
            tf.TensorSpec((None,)),
        ],
    )
    def in_graph(hidden, targets, weights):
        inputs = {"hidden": hidden, "targets": targets, "weights": weights}
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            loss = chunked_softmax.cross_entropy(**inputs, **arguments)
        scores, _ = chunked_softmax.log_probabilities(**inputs, **arguments)
        return loss, tape.gradient(loss, hidden), scores

    for count in (3, 32, 33, 100):
        draws = np.random.default_rng(count)
        hidden = draws.normal(size=(count, D)).astype("float32")
        targets = draws.integers(R, size=count).astype("int32")
        weights = (draws.random(count) < 0.6).astype("float32")
        loss, gradient, _, log_p = plain(hidden, table, targets, weights)
        found = [each.numpy() for each in in_graph(hidden, targets, weights)]
        np.testing.assert_allclose(found[0], loss, rtol=1e-5)
        np.testing.assert_allclose(found[1], gradient, atol=1e-5)
        np.testing.assert_allclose(found[2], log_p * weights, atol=1e-5)
