import keras
import numpy as np
import pytest

from gpt1_keras.layers import dropout
from tests.reference import small_models

ONES = np.ones((4, 50), "float32")


def masks(layer, count=3):
    return [small_models.read(layer(ONES, training=True)) for _ in range(count)]


def test_same_seed_same_masks_and_each_call_another():
    first = masks(dropout.seeded_dropout(0.5, seed=7))
    np.testing.assert_array_equal(
        first, masks(dropout.seeded_dropout(0.5, seed=7))
    )
    assert np.any(first[0] != first[1]) and np.any(first[1] != first[2])
    assert np.any(first[0] != masks(dropout.seeded_dropout(0.5, seed=8))[0])


def test_rate_and_scale():
    layer = dropout.seeded_dropout(0.25, seed=1, name="some", dtype="float32")
    assert layer.name == "some"
    got = small_models.read(
        layer(np.ones((100, 100), "float32"), training=True)
    )
    np.testing.assert_allclose(np.unique(got), [0.0, 1 / 0.75], rtol=1e-6)
    # 10,000 draws: four standard deviations are 0.017.
    assert abs(np.mean(got == 0) - 0.25) < 0.02
    np.testing.assert_array_equal(small_models.read(layer(ONES)), ONES)


def test_without_a_seed_follows_set_random_seed():
    keras.utils.set_random_seed(5)
    layers = [dropout.seeded_dropout(0.5) for _ in range(2)]
    first, second = map(masks, layers)
    assert np.any(first[0] != second[0])
    keras.utils.set_random_seed(5)
    np.testing.assert_array_equal(first, masks(dropout.seeded_dropout(0.5)))


def test_state_is_a_variable_that_brings_a_mask_back():
    layer = dropout.seeded_dropout(0.5, seed=7)
    (state,) = layer.variables
    assert tuple(state.shape) == (2,) and not state.trainable
    before = keras.ops.convert_to_numpy(state).copy()
    first = masks(layer)
    assert np.any(keras.ops.convert_to_numpy(state) != before)
    state.assign(before)
    np.testing.assert_array_equal(first, masks(layer))


@pytest.mark.skipif(keras.config.backend() != "torch", reason="torch only")
def test_leaves_the_global_generator_of_torch_alone():
    import torch

    torch.manual_seed(3)
    layer = dropout.seeded_dropout(0.5)
    before = torch.get_rng_state()
    first = masks(layer, 1)[0]
    assert torch.equal(before, torch.get_rng_state())
    assert np.any(first == 0)
    # And does not follow it either.
    torch.manual_seed(3)
    assert np.any(first != masks(layer, 1)[0])
