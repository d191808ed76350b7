import keras
import numpy as np
import pytest
from scipy import stats

from gpt1_keras.layers import dropout
from tests.reference import small_models

ONES = np.ones((4, 50), "float32")


def masks(layer, count=2):
    return [small_models.read(layer(ONES, training=True)) for _ in range(count)]


def test_rate_and_scale():
    config = keras.layers.serialize(dropout.Dropout(0.25, seed=1, name="some"))
    layer = keras.layers.deserialize(config)
    assert isinstance(layer, dropout.Dropout) and layer.name == "some"
    ones = np.ones((100, 100), "float32")
    got = small_models.read(layer(ones, training=True))
    np.testing.assert_allclose(np.unique(got), [0.0, 1 / 0.75], rtol=1e-6)
    # 10,000 draws: four standard deviations are 0.017.
    assert abs(np.mean(got == 0) - 0.25) < 0.02
    np.testing.assert_array_equal(small_models.read(layer(ones)), ones)


def test_masks_follow_the_seed_and_the_state():
    layer = dropout.Dropout(0.5, seed=7)
    (state,) = layer.variables
    assert not state.trainable
    before = keras.ops.convert_to_numpy(state).copy()
    first = masks(layer)
    assert np.any(first[0] != first[1])
    assert np.any(keras.ops.convert_to_numpy(state) != before)
    state.assign(before)
    for again in (layer, dropout.Dropout(0.5, seed=7)):
        np.testing.assert_array_equal(first, masks(again))
    assert np.any(first[0] != masks(dropout.Dropout(0.5, seed=8))[0])


@pytest.mark.skipif(keras.config.backend() != "torch", reason="torch only")
def test_leaves_the_global_generator_of_torch_alone():
    import torch

    torch.manual_seed(3)
    layer = dropout.Dropout(0.5)
    before = torch.get_rng_state()
    (first,) = masks(layer, 1)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(3)
    assert np.any(first != masks(layer, 1)[0])


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
@pytest.mark.parametrize("seed", [1, 5, 2**31 - 1])
def test_bits_are_uniform_and_independent(seed):
    layer = dropout.Dropout(0.5, seed=seed)
    neighbour = dropout.Dropout(0.5, seed=seed - 1)
    drawn = [bits(each, 20_000, 3) for each in (layer, layer, neighbour)]
    for found in drawn:
        assert found.min() >= 0 and found.max() < 2**16
        for byte in (found % 256, found // 256):
            counts = np.bincount(byte.ravel(), minlength=256)
            assert stats.chisquare(counts).pvalue > 1e-6
    # also with the values one, two and eight rows further
    rows = np.concatenate(drawn, axis=1).astype("float64")
    rows = np.concatenate([np.roll(rows, n, 0) for n in (0, 1, 2, 8)], axis=1)
    for values in (rows, rows < 2**16 * 0.1):
        between = np.corrcoef(values, rowvar=False)[np.triu_indices(36, 1)]
        # Standard deviation 0.007.
        assert np.abs(between).max() < 0.04


@pytest.mark.skipif(keras.config.backend() == "torch", reason="draws masks")
def test_bits_are_the_hash_of_key_and_place():
    layer = dropout.Dropout(0.5, seed=12345)
    bits(layer, 5, 7)

    def mixed(x, distance, factor):
        return (x ^ x >> distance) * factor % 2**32

    expected = []
    for place in range(35):
        x = place * 0x9E3779B9 % 2**32 ^ 12345
        x = mixed(x, 16, 0x21F0AAAD) ^ 1  # the second draw
        x = mixed(mixed(x, 16, 0x7FEB352D), 15, 0x846CA68B)
        expected.append((x ^ x >> 16) >> 16)
    np.testing.assert_array_equal(bits(layer, 5, 7).ravel(), expected)
    # What is as large as the limit is kept.
    source, x = np.array([12345, 1], "uint32"), np.ones((5, 7), "float32")
    kept = dropout.drop(x, source, expected[0] / 2**16)
    found = small_models.read(kept).ravel() > 0
    np.testing.assert_array_equal(found, np.array(expected) >= expected[0])


@pytest.mark.parametrize("noise_shape", [(None, 1, None), (40, 1, 5)])
def test_shared_axes_share_a_mask(noise_shape):
    layer = dropout.Dropout(0.5, seed=1, noise_shape=noise_shape)
    got = small_models.read(layer(np.ones((40, 3, 5), "f4"), training=True))
    np.testing.assert_array_equal(got, got[:, :1].repeat(3, axis=1))
    assert 0.3 < np.mean(got == 0) < 0.7
    assert np.any(got != got[:1]) and np.any(got != got[:, :, :1])
