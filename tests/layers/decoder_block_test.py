import keras
import numpy as np
import pytest

from gpt1_keras.layers import decoder_block
from tests.reference import golden
from tests.reference import keras_hub_programs
from tests.reference import numpy_gpt1
from tests.reference import small_models

SIZES = {
    "hidden_dim": 8,
    "num_heads": 2,
    "intermediate_dim": 20,
    "attention_dropout": 0.0,
    "residual_dropout": 0.0,
    "layer_norm_epsilon": 1e-5,
    "initializer_range": 0.02,
}


def make(**changes):
    block = decoder_block.DecoderBlock(**{**SIZES, **changes})
    block.build((None, None, 8))
    small_models.randomize(block)
    return block


def states(*shape):
    return np.random.default_rng(1).normal(size=shape).astype("float32")


# Small inputs: an epsilon other than 1e-5 shows.
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_equals_numpy(scale):
    block, x = make(), scale * states(6, 7, 8)
    if scale < 1:
        for weight in block.attention.weights + block.feed_forward.weights:
            weight.assign(scale * small_models.read(weight))
    arrays = {}
    for name, path in golden.BLOCK_NAMES.items():
        value = block
        for attribute in path:
            value = getattr(value, attribute)
        arrays[name] = small_models.read(value)
    expected = [numpy_gpt1.block(row, arrays.get, 2) for row in x.astype("f8")]
    np.testing.assert_allclose(small_models.read(block(x)), expected, atol=1e-5)


def test_cache_gives_the_same_as_the_whole():
    block, x = make(), states(6, 7, 8)
    whole = small_models.read(block(x))
    cache = keras.ops.zeros((6, 2, 7, 2, 4))
    pieces = []
    for start, end in ((0, 3), (3, 4), (4, 7)):
        piece, cache = block(
            x[:, start:end], cache=cache, cache_update_index=start
        )
        pieces.append(small_models.read(piece))
    np.testing.assert_allclose(np.concatenate(pieces, axis=1), whole, atol=1e-5)


def test_each_dropout_is_drawn_once():
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
    block(states(6, 7, 8), training=True)
    assert small_models.draws(block) == [1, 1, 1]
    block(states(6, 7, 8))
    assert small_models.draws(block) == [1, 1, 1]


def test_norms_and_residual_stream_stay_float32():
    block = make(dtype="mixed_bfloat16")
    assert block.attention.compute_dtype == "bfloat16"
    assert block.feed_forward.compute_dtype == "bfloat16"
    for norm in (block.attention_norm, block.feed_forward_norm):
        assert norm.compute_dtype == "float32"
    assert {weight.dtype for weight in block.weights} == {"float32"}
    output = block(states(6, 7, 8))
    assert keras.backend.standardize_dtype(output.dtype) == "float32"
    # A part of 2**-12 is lost on a bfloat16 stream: 1 + 2**-12 = 1.
    x = states(6, 7, 8)
    for weight in block.attention.weights + block.feed_forward.weights:
        weight.assign(np.zeros(weight.shape, "float32"))
    nudged = x * (1 + 2.0**-12 * np.arange(8, dtype="float32"))
    difference = small_models.read(block(nudged)) - small_models.read(block(x))
    assert np.all(np.any(difference != 0, axis=-1))


def test_keras_hub_layer_program():
    keras_hub_programs.programs().run_layer_test(
        cls=decoder_block.DecoderBlock,
        init_kwargs={
            **SIZES,
            "attention_dropout": 0.1,
            "residual_dropout": 0.1,
        },
        input_data=keras.ops.convert_to_tensor(states(6, 7, 8)),
        expected_output_shape=(6, 7, 8),
        expected_num_trainable_weights=12,
        expected_num_non_trainable_variables=3,
        # It asks for norms in half precision, ours are float32.
        run_precision_checks=False,
    )
