"""Dropout whose random state is always a variable of the model."""

import random

import keras


def seeded_dropout(rate, *, seed=None, **kwargs):
    """Return a `keras.layers.Dropout` that never uses a hidden global state.

    Without a seed, Keras draws one itself and, on torch, then ignores it in
    favour of torch's global generator, which no checkpoint of ours holds.
    The seed drawn here comes from Python's generator, which
    `keras.utils.set_random_seed` sets.

    Args:
        rate: float. Share of the values that become zero.
        seed: int or None.
        **kwargs: passed to `keras.layers.Dropout`.
    """
    if seed is None:
        seed = random.randint(1, 2**31 - 1)
    return keras.layers.Dropout(rate, seed=seed, **kwargs)
