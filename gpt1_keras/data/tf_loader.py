"""Batches as a tf.data.Dataset."""

import numpy as np

_NO_END = np.iinfo(np.int64).max


def dataset(batches, *, first_step=0, num_steps, prefetch=4):
    """Make a Dataset of the batches of consecutive steps.

    Reading runs in parallel and ahead of the model; the order is that of the
    steps.

    Args:
        batches: function of the step with a `spec` (`data.batches`,
            `data.example_batches`).
        first_step: int, where a resumed run goes on.
        num_steps: int; None goes on without end.
        prefetch: int, batches kept ready.

    Returns:
        tf.data.Dataset of dicts; the shapes are static where `spec` says so.
    """
    import tensorflow as tf

    spec = {
        name: tf.TensorSpec(shape, dtype)
        for name, (shape, dtype) in batches.spec.items()
    }

    def read(step):
        batch = batches(int(step))
        return [np.ascontiguousarray(batch[name]) for name in spec]

    def gather(step):
        values = tf.numpy_function(
            read, [step], [entry.dtype for entry in spec.values()]
        )
        return {
            name: tf.ensure_shape(value, entry.shape)
            for (name, entry), value in zip(spec.items(), values)
        }

    end = _NO_END if num_steps is None else first_step + num_steps
    steps = tf.data.Dataset.range(first_step, end)
    return steps.map(gather, num_parallel_calls=2, deterministic=True).prefetch(
        prefetch
    )
