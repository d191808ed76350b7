"""What one training step computes, on every backend.

A batch of `B` examples is processed in micro-batches of `M`. Each loss is a
mean over its sequences, so the mean over equal micro-batches is the loss of
the whole batch, and likewise for gradients.
"""

from keras import ops

from gpt1_keras.layers import fused


def count_micro_batches(batch, micro_batch_size):
    """Return the number of micro-batches in a batch.

    Args:
        batch: dict of tensors `[B, ...]`.
        micro_batch_size: int, or None for the whole batch at once.

    Raises:
        ValueError: `B` is not a multiple of it.
    """
    size = next(iter(batch.values())).shape[0]
    micro_batch_size = micro_batch_size or size
    if size % micro_batch_size:
        raise ValueError(
            f"a batch of {size} cannot be split into micro-batches of "
            f"{micro_batch_size}"
        )
    return size // micro_batch_size


def split(batch, num_micro_batches):
    """`[B, ...] -> [B / M, M, ...]` for every tensor of the batch."""
    return {
        key: ops.reshape(
            value,
            (num_micro_batches, value.shape[0] // num_micro_batches)
            + tuple(ops.shape(value)[1:]),
        )
        for key, value in batch.items()
    }


def finish(sums, gradients, num_micro_batches, clip_norm):
    """Turn sums over micro-batches into the logs and gradients of a step.

    One factor averages the gradients and scales them together, so that their
    global norm is at most `clip_norm`.

    Args:
        sums: dict of float32 scalars, losses summed over micro-batches.
        gradients: list of tensors, summed likewise.
        num_micro_batches: int.
        clip_norm: float, 0 for no clipping.

    Returns:
        dict of the mean losses and `gradient_norm` (before clipping), and
        the list of clipped gradients.
    """
    scale = 1.0 / num_micro_batches
    norm = scale * ops.sqrt(sum(map(_squares, gradients)))
    factor = scale
    if clip_norm:
        factor = scale * clip_norm / ops.maximum(norm, clip_norm)
    gradients = [g * ops.cast(factor, g.dtype) for g in gradients]
    logs = {key: value * scale for key, value in sums.items()}
    return {**logs, "gradient_norm": norm}, gradients


@fused.compiled
def _squares(gradient):
    return ops.sum(ops.square(ops.cast(gradient, "float32")))
