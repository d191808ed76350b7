"""Dropout whose random state is a variable of the model on every backend."""

import random

import keras


def seeded_dropout(rate, *, seed=None, **kwargs):
    """Return a `keras.layers.Dropout` that a checkpoint can restore exactly.

    Without a seed, Keras on torch uses torch's global generator, which no
    checkpoint holds. Here a missing seed is drawn from Python's generator,
    which `keras.utils.set_random_seed` sets.

    Args:
        rate: float. Fraction of the values set to zero.
        seed: int or None.
        **kwargs: passed to `keras.layers.Dropout`.
    """
    if seed is None:
        seed = random.randint(1, 2**31 - 1)
    return keras.layers.Dropout(rate, seed=seed, **kwargs)
