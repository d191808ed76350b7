"""The loader of the backend in use: tf.data, or Keras's own without it."""

import keras

from gpt1_keras.data import tf_loader

# -----------------------------------------------------------------------------
# Batches as a keras.utils.PyDataset, for JAX and torch without TensorFlow.


class BatchSequence(keras.utils.PyDataset):
    """The batches of consecutive steps.

    `fit` shuffles the batches of a PyDataset that has an end: give it
    `shuffle=False`, or no end and `steps_per_epoch`.

    Args:
        batches: function of the step (`data.batches`,
            `data.example_batches`).
        first_step: int, where a resumed run goes on.
        num_steps: int; None goes on without end.
        **kwargs: `workers`, `use_multiprocessing`, `max_queue_size` of
            keras.utils.PyDataset.
    """

    def __init__(self, batches, *, first_step=0, num_steps, **kwargs):
        super().__init__(**kwargs)
        self._batches = batches
        self._first_step = first_step
        self._num_steps = num_steps

    @property
    def num_batches(self):
        return self._num_steps

    def __len__(self):
        if self._num_steps is None:
            raise TypeError("this sequence of batches has no end")
        return self._num_steps

    def __getitem__(self, index):
        if self._num_steps is not None and not 0 <= index < self._num_steps:
            raise IndexError(f"batch {index} of {self._num_steps}")
        return self._batches(self._first_step + index)


# -----------------------------------------------------------------------------
# The loader of the backend in use: tf.data, or Keras's own without it.


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
    return BatchSequence(batches, first_step=first_step, num_steps=num_steps)
