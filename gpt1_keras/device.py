"""The kind of device that the backend computes on."""

import keras


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
