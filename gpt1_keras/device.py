"""The kind of device that the backend computes on."""

import keras


def kind():
    """Return "cpu", "gpu" or "tpu"."""
    if keras.config.backend() == "jax":
        import jax

        return jax.default_backend()
    if keras.config.backend() == "torch":
        import torch

        return "gpu" if torch.cuda.is_available() else "cpu"
    import tensorflow as tf

    is_tpu = isinstance(
        tf.distribute.get_strategy(), tf.distribute.TPUStrategy
    ) or tf.config.list_physical_devices("TPU")
    if is_tpu:
        return "tpu"
    return "gpu" if tf.config.list_physical_devices("GPU") else "cpu"
