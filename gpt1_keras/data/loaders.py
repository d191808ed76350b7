"""Batches for `fit` and `predict`: tf.data, or Keras's own PyDataset.

Both yield the same batches in the order of the steps. Only the TensorFlow
backend uses tf.data; JAX and torch need no TensorFlow.
"""

import keras
import numpy as np

_PREFETCHED_BATCHES = 4


def load(batches, *, first_step, num_steps):
    """Return the batches of consecutive steps for the backend in use.

    Args:
        batches: function of the step with a `spec`, which states the static
            dimensions (`data.batches`, `data.example_batches`), or an object
            with a `dataset` of its own (`data.tf_raw_text`).
        first_step: int, the step at which a resumed run continues.
        num_steps: int.
    """
    if hasattr(batches, "dataset"):
        return batches.dataset(first_step=first_step, num_steps=num_steps)
    if keras.config.backend() != "tensorflow":
        return BatchSequence(batches, first_step, num_steps)
    import tensorflow as tf

    steps = tf.data.Dataset.range(first_step, first_step + num_steps)
    read = in_graph(batches, batches.spec)
    return prefetched(steps.map(read, 2, deterministic=True), num_steps)


def in_graph(function, spec):
    """Return a Python function of a number in a form for `Dataset.map`.

    It returns a dict of arrays; `spec` is {name: (shape, dtype)} of these.
    """
    import tensorflow as tf

    def read(number):
        found = function(int(number))
        return [np.ascontiguousarray(found[name]) for name in spec]

    def call(number):
        dtypes = [dtype for _, dtype in spec.values()]
        found = tf.numpy_function(read, [number], dtypes)
        return {
            name: tf.ensure_shape(value, shape)
            for (name, (shape, _)), value in zip(spec.items(), found)
        }

    return call


def prefetched(dataset, num_steps):
    """Return a tf.data.Dataset of `num_steps` that keeps some batches ready.

    Its autotuning is off: all numbers are given, and the tuning thread can keep
    a finished iterator from closing for up to a minute.
    """
    import tensorflow as tf

    dataset = dataset.apply(tf.data.experimental.assert_cardinality(num_steps))
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.prefetch(_PREFETCHED_BATCHES).with_options(options)


class BatchSequence(keras.utils.PyDataset):
    """Batches of consecutive steps without TensorFlow; arguments as in `load`.

    `fit` shuffles a PyDataset that is not endless: pass `shuffle=False`.
    """

    def __init__(self, batches, first_step, num_steps):
        super().__init__()
        self._batches = batches
        self._first_step = first_step
        self._num_steps = num_steps

    @property
    def num_batches(self):
        return self._num_steps

    def __getitem__(self, index):
        return self._batches(self._first_step + index)
