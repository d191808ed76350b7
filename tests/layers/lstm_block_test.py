import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.layers import lstm_block
from tests.reference import keras_hub_programs
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


def random(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def test_a_position_sees_nothing_behind_it():
    layer, x = block(), random(2, 7, 6)
    changed = x.copy()
    changed[:, 4:] += 1.0
    ours, theirs = (ops.convert_to_numpy(layer(each)) for each in (x, changed))
    np.testing.assert_allclose(ours[:, :4], theirs[:, :4], atol=1e-6)
    assert np.abs(ours[:, 4:] - theirs[:, 4:]).min() > 1e-4


def test_cache_equals_the_whole_text():
    layer, x = block(), random(2, 7, 6)
    whole = ops.convert_to_numpy(layer(x))
    cache = ops.zeros((2, 2, 7, 1, 5))
    first, cache = layer(x[:, :3], cache=cache, cache_update_index=0)
    second, cache = layer(x[:, 3:], cache=cache, cache_update_index=3)
    found = np.concatenate(list(map(ops.convert_to_numpy, (first, second))), 1)
    np.testing.assert_allclose(found, whole, atol=1e-5)


def test_branches_are_refused():
    with pytest.raises(ValueError, match="cannot branch"):
        block()(random(1, 2, 6), allowed=np.ones((1, 2, 2), bool))


def test_dropout_only_in_training():
    layer, x = block(residual_dropout=0.5), random(1, 20, 6)
    plain = ops.convert_to_numpy(layer(x))
    np.testing.assert_array_equal(plain, ops.convert_to_numpy(layer(x)))
    dropped = ops.convert_to_numpy(layer(x, training=True))
    assert 0.3 < (dropped == 0).mean() < 0.7


def test_config_round_trip():
    layer = block()
    config = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == layer.get_config()


def test_keras_hub_layer_program():
    keras_hub_programs.programs().run_layer_test(
        cls=lstm_block.LSTMBlock,
        init_kwargs={
            "hidden_dim": 6,
            "num_units": 5,
            "residual_dropout": 0.1,
            "initializer_range": 0.02,
        },
        input_data=ops.convert_to_tensor(random(2, 7, 6)),
        expected_output_shape=(2, 7, 6),
        expected_num_trainable_weights=5,
        expected_num_non_trainable_variables=2,
        # It asks for states in half precision, ours are float32.
        run_precision_checks=False,
    )
