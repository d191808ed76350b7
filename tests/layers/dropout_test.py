import keras
import numpy as np
import pytest

from gpt1_keras.layers import dropout
from tests.reference import small_models


@pytest.mark.skipif(keras.config.backend() != "torch", reason="torch only")
def test_leaves_the_global_generator_of_torch_alone():
    import torch

    torch.manual_seed(3)
    layer = dropout.Dropout(0.5)
    before, ones = torch.get_rng_state(), torch.ones(4, 50)
    first = layer(ones, training=True)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(3)
    assert not torch.equal(first, layer(ones, training=True))


def bits(layer, *shape):
    source = layer.draw(shape)
    return keras.ops.convert_to_numpy(dropout.bits(source, shape))


@pytest.mark.skipif(keras.config.backend() != "torch", reason="torch only")
@pytest.mark.parametrize("size", [1, 3, 8, 30_001])
def test_torch_drops_by_16_bits_of_numpy(size):
    layer = dropout.Dropout(0.1, seed=5)
    kept = layer.draw((size, 1))
    drawn = np.random.SFC64([5, 0]).random_raw((size + 3) // 4)
    expected = drawn.view("int16")[:size].astype(int) + 2**15 >= 6554
    np.testing.assert_array_equal(kept.numpy()[:, 0], expected)
    assert np.any(layer.draw((50,)).numpy() != layer.draw((50,)).numpy())


@pytest.mark.skipif(keras.config.backend() == "torch", reason="draws masks")
def test_bits_are_the_hash_of_key_and_place():
    layer = dropout.Dropout(0.5, seed=12345)
    bits(layer, 5000, 7)

    def mixed(x, distance, factor):
        return (x ^ x >> distance) * factor % 2**32

    expected = []
    for place in range(35_000):
        x = place * 0x9E3779B9 % 2**32 ^ 12345
        x = mixed(x, 16, 0x21F0AAAD) ^ 1  # the second draw
        x = mixed(mixed(x, 16, 0x7FEB352D), 15, 0x846CA68B)
        expected.append((x ^ x >> 16) >> 16)
    np.testing.assert_array_equal(bits(layer, 5000, 7).ravel(), expected)


@pytest.mark.parametrize("noise_shape", [(None, 1, None), (40, 1, 5)])
def test_shared_axes_share_a_mask(noise_shape):
    layer = dropout.Dropout(0.5, seed=1, noise_shape=noise_shape)
    got = small_models.read(layer(np.ones((40, 3, 5), "f4"), training=True))
    np.testing.assert_array_equal(got, got[:, :1].repeat(3, axis=1))
    assert 0.3 < np.mean(got == 0) < 0.7
    assert np.any(got != got[:1]) and np.any(got != got[:, :, :1])
