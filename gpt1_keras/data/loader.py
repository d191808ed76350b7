"""The loader of the backend in use: tf.data, or Keras's own without it."""

import keras

from gpt1_keras.data import py_loader
from gpt1_keras.data import tf_loader


def load(batches, *, first_step, num_steps):
    """Return what `fit` and `predict` take, with the same batches everywhere.

    Args:
        batches: function of the step (`data.batches`), or what makes a
            `dataset` of its own (`data.tf_raw_text`).
        first_step: int.
        num_steps: int.
    """
    if hasattr(batches, "dataset"):
        return batches.dataset(first_step=first_step, num_steps=num_steps)
    if keras.config.backend() == "tensorflow":
        return tf_loader.dataset(
            batches, first_step=first_step, num_steps=num_steps
        )
    return py_loader.BatchSequence(
        batches, first_step=first_step, num_steps=num_steps
    )
