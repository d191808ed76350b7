import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from gpt1_keras.data import packing
from gpt1_keras.models import causal_lm
from gpt1_keras.models import lstm_backbone
from gpt1_keras.models import transfer
from tests.models import branches_test
from tests.reference import keras_hub_programs
from tests.reference import small_models

SIZES = {
    "vocabulary_size": 23,
    "num_units": 10,
    "hidden_dim": 8,
    "max_sequence_length": 12,
    "embedding_dropout": 0.0,
    "residual_dropout": 0.0,
    "embedding_dropout_on": "tables",
    "initializer_range": 0.02,
    "num_special_tokens": 0,
}


def network(**changes):
    model = lstm_backbone.LSTMBackbone(**SIZES | changes)
    small_models.randomize(model)
    return model


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy_forward(model, ids):
    """The LSTM's equations, one token after the other."""
    embedding, block = (
        model.token_and_position_embedding,
        model.decoder_blocks[0],
    )
    tokens = small_models.read(embedding.token_embeddings)
    positions = small_models.read(embedding.position_embeddings)
    kernel, recurrent, bias = map(small_models.read, block.lstm.weights[:3])
    dense = map(small_models.read, block.output_dense.weights)
    out_kernel, out_bias = dense
    h = c = np.zeros((len(ids), 10))
    found = []
    for t in range(ids.shape[1]):
        x = tokens[ids[:, t]] + positions[t]
        gates = np.split(x @ kernel + h @ recurrent + bias, 4, axis=1)
        i, f, o = sigmoid(gates[0]), sigmoid(gates[1]), sigmoid(gates[3])
        c = f * c + i * np.tanh(gates[2])
        h = o * np.tanh(c)
        found.append(h @ out_kernel + out_bias)
    return np.stack(found, axis=1)


def test_forward_is_the_equations():
    model = network()
    ids = small_models.token_ids(3, 7, below=23)
    found = model.predict(small_models.inputs(ids), verbose=0)
    np.testing.assert_allclose(found, numpy_forward(model, ids), atol=1e-5)


def test_number_of_parameters():
    model = network()
    lstm = 4 * (8 * 10 + 10 * 10 + 10)
    assert model.count_params() == (23 + 12) * 8 + lstm + 10 * 8 + 8


@pytest.mark.parametrize("start", [0, 1, 4])
def test_cache_goes_on_where_it_was(start):
    """Logits from column `start` on equal those of the whole text."""
    model = causal_lm.GPT1CausalLM(network())
    ids = small_models.token_ids(2, 6, below=23)
    whole = model.predict(small_models.inputs(ids), verbose=0)
    _, cache = model._build_cache(ops.convert_to_tensor(ids))
    # What lies behind must not matter.
    cache = ops.concatenate(
        [cache[:, :, :, :start], 9 + 0 * cache[:, :, :, start:]], axis=3
    )
    logits, _, _ = model.call_with_cache(
        ops.convert_to_tensor(ids[:, start:]), cache, start
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(logits), whole[:, start:], atol=1e-5
    )


def test_generates(tmp_path):
    model = causal_lm.GPT1CausalLM(network())
    model.compile(sampler="greedy")
    ids = np.array([[3, 5, 0, 0, 0, 0]], "int32")
    mask = np.array([[1, 1, 0, 0, 0, 0]], "int32")
    found = model.generate(
        {"token_ids": ids, "padding_mask": mask}, stop_token_ids=None
    )
    text = [3, 5]
    for _ in range(4):
        logits = model.predict(
            small_models.inputs(np.array([text], "int32")), verbose=0
        )
        text.append(int(logits[0, -1].argmax()))
    assert ops.convert_to_numpy(found["token_ids"])[0].tolist() == text


def test_preset(tmp_path):
    model = network()
    model.save_to_preset(str(tmp_path))
    ids = small_models.token_ids(2, 5, below=23)
    expected = model.predict(small_models.inputs(ids), verbose=0)
    for cls in (
        lstm_backbone.LSTMBackbone.__mro__[0],
        lstm_backbone.LSTMBackbone.__mro__[1],
        keras_hub.models.Backbone,
    ):
        loaded = cls.from_preset(str(tmp_path))
        assert type(loaded) is lstm_backbone.LSTMBackbone
        found = loaded.predict(small_models.inputs(ids), verbose=0)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("num_layers, is_equal", [(1, True), (0, False)])
def test_transfer(num_layers, is_equal):
    model = network()
    found = transfer.transferred_backbone(
        model, num_transferred_layers=num_layers, num_special_tokens=3
    )
    ids = small_models.token_ids(2, 5, below=23)
    ours, theirs = (
        each.predict(small_models.inputs(ids), verbose=0)
        for each in (found, model)
    )
    assert np.allclose(ours, theirs, atol=1e-6) == is_equal


def test_scores_of_continuations():
    chosen = branches_test.items()
    model = network()
    packed = packing.PackedItems(chosen, share_prefix=model.can_share_prefix)
    found = branches_test.score(
        model, packed, batch_size=4, bucket_lengths=(12,)
    )
    total, _, _ = zip(*branches_test.expected(model, chosen))
    np.testing.assert_allclose(
        np.concatenate([s.log_probability for s in found]), total, atol=1e-4
    )


def test_branches_are_refused():
    model = network()
    with pytest.raises(ValueError, match="cannot branch"):
        model.encode(
            np.zeros((1, 3), "int32"), allowed=np.ones((1, 3, 3), bool)
        )


def test_keras_hub_backbone_program():
    ids = ops.convert_to_tensor(small_models.token_ids(6, 7, below=23))
    keras_hub_programs.programs().run_backbone_test(
        cls=lstm_backbone.LSTMBackbone,
        init_kwargs=SIZES | {"name": "lstm_backbone"},
        input_data={"token_ids": ids, "padding_mask": ops.ones_like(ids)},
        expected_output_shape=(6, 7, 8),
        # It asks for states in half precision, ours are float32.
        run_mixed_precision_check=False,
        # The same code everywhere; compiling it for JAX takes longest.
        run_quantization_check=keras.config.backend() == "tensorflow",
    )
