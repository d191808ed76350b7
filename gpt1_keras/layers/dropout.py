"""Dropout whose random state is a variable of the model on every backend."""

import functools
import math
import random

import keras
import numpy as np
from keras import ops

from gpt1_keras.layers import fused

# The number of values of 16 random bits, which decide what is dropped.
_NUM_DRAWS = 2**16


@keras.saving.register_keras_serializable(package="gpt1_keras")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` with 16 random bits per value in every dtype.

    In bfloat16 and at rate 0.1, Keras's own layer drops 10.17 % of the values
    and multiplies the others by 1.1094. Here the rate is exact to 2^-17, and
    the product is computed in float32.

    Without a seed, Keras on torch uses torch's global generator, which no
    checkpoint holds. Here a missing seed is drawn from Python's generator,
    which `keras.utils.set_random_seed` sets.

    Its call takes a `bias` too, which is added to the inputs first.
    """

    def __init__(self, rate, *, seed=None, **kwargs):
        if seed is None:
            seed = random.randint(1, 2**31 - 1)
        super().__init__(rate, seed=seed, **kwargs)
        # torch.compile does not see that a function is cached.
        if keras.config.backend() == "torch":
            self._torch_draw = _torch_draw()

    def call(self, inputs, bias=None, training=False):
        if not (training and self.rate):
            return inputs if bias is None else ops.add(inputs, bias)
        noise = self.noise_shape or [None] * len(inputs.shape)
        shared = tuple(i for i, size in enumerate(noise) if size == 1)
        source = self.draw(_mask_shape(inputs, shared))
        loop = _fused_drop(self.rate, shared)
        return loop(inputs, source, bias=bias, training=True)

    def draw(self, shape):
        """Draw the next mask of a shape, in the form that `drop` takes.

        It is a random key, uint32 `[2]`; on torch, the mask itself, uint8.
        """
        if keras.config.backend() != "torch":
            return ops.cast(self.seed_generator.next(), "uint32")
        kept = self._torch_draw(
            self.seed_generator.state.value,
            math.prod(shape),
            _num_dropped(self.rate),
        )
        return ops.reshape(kept, shape)


@functools.cache
def _torch_draw():
    """Return a function that draws on torch, as one operation of a graph.

    torch.compile cannot follow `keras.random.randint` and would break the
    network into pieces at every dropout. This function takes the state of a
    `SeedGenerator` `[2]`, increments its counter and returns uint8 `[size]`:
    1 where 16 random bits are at least `num_dropped`, else 0. torch.compile
    multiplies by uint8 faster than it selects by bool. On a CPU, numpy draws
    seven times as fast as torch.
    """
    import torch

    @torch.library.custom_op("gpt1_keras::draw", mutates_args={"state"})
    def draw(state: torch.Tensor, size: int, num_dropped: int) -> torch.Tensor:
        seed = state.tolist()
        state[1] += 1
        least = num_dropped - _NUM_DRAWS // 2
        if state.device.type == "cpu":
            bits = np.random.SFC64(seed).random_raw((size + 3) // 4)
            kept = bits.view("int16")[:size] >= least
            return torch.from_numpy(kept.view("uint8"))
        generator = torch.Generator(device=state.device)
        generator.manual_seed(sum(seed) % 2**32)
        options = {"dtype": torch.int32, "device": state.device}
        end = 2**31
        bits = torch.randint(
            -end, end - 1, ((size + 1) // 2,), generator=generator, **options
        )
        return (bits.view(torch.int16)[:size] >= least).view(torch.uint8)

    @draw.register_fake
    def _(state, size, num_dropped):
        return state.new_empty((size,), dtype=torch.uint8)

    return draw


def drop(x, source, rate, shared_axes=()):
    """Return float32 `x` with a share `rate` set to 0 and the rest scaled up.

    `source` is what `Dropout.draw` returned for the shape of the mask. Values
    along `shared_axes` are dropped together.
    """
    num_dropped = _num_dropped(rate)
    scale = _NUM_DRAWS / max(_NUM_DRAWS - num_dropped, 1)
    x = ops.cast(x, "float32")
    if keras.config.backend() == "torch":
        return x * scale * source
    kept = bits(source, _mask_shape(x, shared_axes)) >= num_dropped
    return ops.where(kept, x * scale, 0.0)


def bits(source, shape):
    """Return a random int32 from 0 to 65,535 for each element of a mask.

    It is a hash of the element's index and the key `source`, uint32 `[2]`: the
    finalizer lowbias32 (https://github.com/skeeto/hash-prospector) after one
    more round, which separates the two halves of the key. XLA computes these
    numbers in the loop that needs the mask, so they take no memory.
    """
    places = ops.cast(ops.arange(math.prod(shape), dtype="int32"), "uint32")
    x = ops.bitwise_xor(places * np.uint32(0x9E3779B9), source[0])
    x = ops.bitwise_xor(_mixed(x, 16, 0x21F0AAAD), source[1])
    x = _mixed(_mixed(x, 16, 0x7FEB352D), 15, 0x846CA68B)
    # The last xor of lowbias32 changes the lower half only.
    return ops.reshape(ops.cast(ops.right_shift(x, 16), "int32"), shape)


def _mixed(x, distance, factor):
    x = ops.bitwise_xor(x, ops.right_shift(x, distance))
    return x * np.uint32(factor)


def _num_dropped(rate):
    return round(rate * _NUM_DRAWS)


def _mask_shape(x, shared_axes):
    return tuple(
        1 if axis in shared_axes else size
        for axis, size in enumerate(ops.shape(x))
    )


@functools.cache
def _fused_drop(rate, shared_axes=()):
    return fused.fused(
        lambda x, source: ops.cast(drop(x, source, rate, shared_axes), x.dtype)
    )
