"""Batches of consecutive steps: tf.data, or with JAX and torch a PyDataset."""

import keras
import numpy as np

_PREFETCHED_BATCHES = 4


def load(batches, *, first_step, num_steps):
    """Return the batches of consecutive steps for the backend in use.

    `batches` is a function of the step with a `spec` of its static dimensions
    (`data.batches`, `data.example_batches`), or an object with a method
    `dataset` (`data.tf_raw_text`, `data.tf_raw_rows`).
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

    shapes, dtypes = zip(*spec.values())

    def read(number):
        found = function(int(number))
        return [np.ascontiguousarray(found[name]) for name in spec]

    def call(number):
        found = tf.numpy_function(read, [number], dtypes)
        found = map(tf.ensure_shape, found, shapes)
        return dict(zip(spec, found))

    return call


def prefetched(dataset, num_steps):
    """Return a tf.data.Dataset of `num_steps` that keeps some batches ready."""
    import tensorflow as tf

    dataset = dataset.apply(tf.data.experimental.assert_cardinality(num_steps))
    options = tf.data.Options()
    # The tuning thread can keep a finished iterator open for up to a minute.
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
