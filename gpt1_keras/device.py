"""The kind of device that the backend computes on."""

import os

import keras

from gpt1_keras import errors

# Backend -> the environment variable that chooses its device.
VARIABLES = {"jax": "JAX_PLATFORMS", "torch": "KERAS_TORCH_DEVICE"}


def kind():
    """Return "cpu", "gpu" or "tpu"."""
    if keras.config.backend() == "jax":
        import jax

        return jax.default_backend()
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


def check():
    """Refuse a device that the environment names but the machine lacks."""
    variable = VARIABLES.get(keras.config.backend(), "")
    named = os.environ.get(variable)
    if not named:
        return
    try:
        keras.ops.zeros(1)
    except (RuntimeError, AssertionError):
        raise errors.InputError(
            f"{variable}={named}: this machine has no such device: unset it, or"
            " set it to cpu"
        ) from None
