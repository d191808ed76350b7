import keras
import numpy as np
import pytest

from gpt1_keras.layers import dropout
from tests.reference import small_models


def masks(layer):
    ones = np.ones((4, 50), "float32")
    return [small_models.read(layer(ones, training=True)) for _ in range(2)]


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
    # Without a seed, each layer draws one of its own.
    others = {"seed": 8}, {}, {}
    found = [masks(dropout.Dropout(0.5, **options))[0] for options in others]
    assert len({mask.tobytes() for mask in (first[0], *found)}) == 4


def bits(layer, *shape):
    source = layer.draw(shape)
    return keras.ops.convert_to_numpy(dropout.bits(source, shape))


@pytest.mark.only_on("torch")
@pytest.mark.parametrize("size", [1, 3, 8, 30_001])
def test_torch_drops_by_16_bits_of_numpy(size):
    drawn = np.random.SFC64([5, 0]).random_raw((size + 3) // 4)
    drawn = drawn.view("int16")[:size].astype(int) + 2**15
    # What is as large as the limit is kept.
    for rate, limit in ((0.1, 6554), (drawn[0] / 2**16, drawn[0])):
        kept = dropout.Dropout(rate, seed=5).draw((size, 1))
        np.testing.assert_array_equal(kept.numpy()[:, 0], drawn >= limit)


@pytest.mark.only_on("tensorflow", "jax")
@pytest.mark.parametrize("seed", [1, 12345, 2**31 - 1])
def test_bits_are_the_hash_of_key_and_place(seed):
    layer = dropout.Dropout(0.5, seed=seed)
    bits(layer, 5, 7)

    def mixed(x, distance, factor):
        return (x ^ x >> distance) * factor % 2**32

    x = np.arange(60_000, dtype="uint64") * 0x9E3779B9 % 2**32 ^ seed
    x = mixed(x, 16, 0x21F0AAAD) ^ 1  # the second draw
    x = mixed(mixed(x, 16, 0x7FEB352D), 15, 0x846CA68B)
    expected = ((x ^ x >> 16) >> 16).reshape(20_000, 3)
    np.testing.assert_array_equal(bits(layer, 20_000, 3), expected)
    # What is as large as the limit is kept.
    limit, source = expected[0, 0], np.array([seed, 1], "uint32")
    kept = dropout.drop(np.ones((20_000, 3), "float32"), source, limit / 2**16)
    np.testing.assert_array_equal(
        small_models.read(kept) > 0, expected >= limit
    )


@pytest.mark.parametrize("noise_shape", [(None, 1, None), (40, 1, 5)])
def test_shared_axes_share_a_mask(noise_shape):
    layer = dropout.Dropout(0.5, seed=1, noise_shape=noise_shape)
    got = small_models.read(layer(np.ones((40, 3, 5), "f4"), training=True))
    np.testing.assert_array_equal(got, got[:, :1].repeat(3, axis=1))
    assert 0.3 < np.mean(got == 0) < 0.7
    assert np.any(got != got[:1]) and np.any(got != got[:, :, :1])
