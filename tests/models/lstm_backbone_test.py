import keras
import numpy as np
import pytest
from keras import ops
from scipy import special

from gpt1_keras.models import causal_lm
from gpt1_keras.models import lstm_backbone
from tests.reference import small_models


def variables(network):
    embedding = network.token_and_position_embedding
    block = network.decoder_blocks[0]
    return [
        embedding.token_embeddings,
        embedding.position_embeddings,
        *block.lstm.trainable_weights,
        *block.output_dense.weights,
    ]


def numpy_forward(weights, ids):
    """The LSTM's equations, one token after the other."""
    tokens, positions, kernel, recurrent, bias, out_kernel, out_bias = weights
    h = c = np.zeros((len(ids), 10))
    found = []
    for t in range(ids.shape[1]):
        x = tokens[ids[:, t]] + positions[t]
        gates = np.split(x @ kernel + h @ recurrent + bias, 4, axis=1)
        i, f, o = (special.expit(gates[gate]) for gate in (0, 1, 3))
        c = f * c + i * np.tanh(gates[2])
        h = o * np.tanh(c)
        found.append(h @ out_kernel + out_bias)
    return np.stack(found, axis=1)


def test_forward_and_gradient_are_those_of_the_equations():
    network = small_models.lstm_network()
    ids = small_models.token_ids(3, 7, below=23)
    inputs = small_models.inputs(ids)
    weights = list(map(small_models.read, variables(network)))
    expected = numpy_forward(weights, ids)
    small_models.assert_close(network(inputs), expected)

    upstream = small_models.states(*expected.shape)
    sgd = keras.optimizers.SGD(1.0)
    network.compile(sgd, lambda y, x: ops.sum(x * y, axis=(1, 2)))
    network.train_on_batch(inputs, upstream)
    random = np.random.default_rng(2)
    for i, variable in enumerate(variables(network)):
        # The loss is a mean over the batch.
        gradient = len(ids) * (weights[i] - small_models.read(variable))
        direction = random.normal(size=gradient.shape)

        def loss(step):
            moved = [*weights[:i], weights[i] + step * direction]
            moved += weights[i + 1 :]
            return np.sum(upstream * numpy_forward(moved, ids))

        slope = (loss(1e-5) - loss(-1e-5)) / 2e-5
        found = np.sum(gradient * direction)
        assert found == pytest.approx(slope, rel=1e-4, abs=1e-4), variable.path


def test_dropout_and_new_weights():
    ids = small_models.token_ids(3, 7, below=23)
    whole = small_models.run(small_models.lstm_network(), ids)
    network = small_models.lstm_network(residual_dropout=0.5)
    dropped = small_models.run(network, ids, training=True)
    small_models.assert_half_dropped(dropped, whole)
    sizes = small_models.LSTM_SIZES | {"initializer_range": 9.0}
    (block,) = lstm_backbone.LSTMBackbone(**sizes).decoder_blocks
    kernel, recurrent, _ = map(small_models.read, block.lstm.weights[:3])
    assert 7 < kernel.std() < 11
    np.testing.assert_allclose(recurrent @ recurrent.T, np.eye(10), atol=1e-5)


@pytest.mark.parametrize(
    "start, dtype, atol", [(1, "float32", 1e-5), (4, "mixed_bfloat16", 0.02)]
)
def test_cache_continues_at_any_column(start, dtype, atol):
    network = small_models.lstm_network(dtype=dtype)
    model = causal_lm.GPT1CausalLM(network)
    ids = small_models.token_ids(2, 6, below=23)
    _, cache = model._build_cache(ops.convert_to_tensor(ids))
    # What lies behind must not matter.
    cache = ops.concatenate(
        [cache[..., :start, :], 9 + 0 * cache[..., start:, :]], axis=-2
    )
    logits, _, _ = model.call_with_cache(
        ops.convert_to_tensor(ids[:, start:]), cache, start
    )
    whole = small_models.run(model, ids)
    small_models.assert_close(logits, whole[:, start:], atol)
