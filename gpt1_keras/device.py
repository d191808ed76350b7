"""The kind of device that the backend computes on."""

import os

import keras

from gpt1_keras import errors


def kind():
    """Return "cpu", "gpu" or "tpu"."""
    if keras.config.backend() == "jax":
        import jax

        try:
            return jax.default_backend()
        except (RuntimeError, AssertionError):
            if not (names := os.environ.get("JAX_PLATFORMS")):
                raise
            raise errors.InputError(
                f"JAX_PLATFORMS={names}: JAX finds no such device: unset it, or"
                " set it to cpu"
            ) from None
    if keras.config.backend() == "torch":
        from keras.src.backend.torch import core

        return "gpu" if core.get_device().startswith("cuda") else "cpu"
    import tensorflow as tf

    is_tpu = isinstance(
        tf.distribute.get_strategy(), tf.distribute.TPUStrategy
    ) or tf.config.list_physical_devices("TPU")
    if is_tpu:
        return "tpu"
    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"
