import keras
import numpy as np
import pytest
from keras import ops
from scipy import special

from gpt1_keras.models import causal_lm
from gpt1_keras.models import lstm_backbone
from tests.reference import small_models


def numpy_forward(model, ids):
    """The LSTM's equations, one token after the other."""
    embedding = model.token_and_position_embedding
    block = model.decoder_blocks[0]
    tokens = small_models.read(embedding.token_embeddings)
    positions = small_models.read(embedding.position_embeddings)
    kernel, recurrent, bias = map(small_models.read, block.lstm.weights[:3])
    out_kernel, out_bias = map(small_models.read, block.output_dense.weights)
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


def test_forward_is_the_equations():
    network = small_models.lstm_network()
    ids = small_models.token_ids(3, 7, below=23)
    expected = numpy_forward(network, ids)
    small_models.assert_close(network(small_models.inputs(ids)), expected)
    # On JAX, cuDNN computes something else.
    (block,) = network.decoder_blocks
    is_jax = keras.config.backend() == "jax"
    assert block.lstm.use_cudnn == (False if is_jax else "auto")
    network = small_models.lstm_network(residual_dropout=0.5)
    dropped = small_models.run(network, ids, training=True)
    small_models.assert_half_dropped(dropped, expected)
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
