"""The parts of a training step that all backends share.

A batch of `B` examples is processed in micro-batches of `M`. Each loss is a
mean over sequences, so the mean over equal micro-batches is the loss of the
whole batch; the same holds for gradients.
"""

from keras import ops


def count_micro_batches(token_ids, micro_batch_size, full_length=None):
    """Return the number of micro-batches in a batch.

    Short sequences take fewer micro-batches, but none of these has more tokens
    than `micro_batch_size` sequences of full length.

    Args:
        token_ids: tensor `[B, ..., T]`.
        micro_batch_size: int, a divisor of `B`; None for the whole batch.
        full_length: int, or None to ignore the sequence length.

    Returns an int, or an int32 scalar in a graph in which `T` is unknown.
    """
    size, length = token_ids.shape[0], token_ids.shape[-1]
    most = size // (micro_batch_size or size)
    if most == 1 or full_length is None:
        return most
    # All micro-batches must have equal size.
    counts = [count for count in range(1, most + 1) if most % count == 0]
    if length is not None:
        times = max(1, full_length // length)
        return min(count for count in counts if count * times >= most)
    times = ops.maximum(1, full_length // ops.shape(token_ids)[-1])
    counts = ops.convert_to_tensor(counts, "int32")
    return ops.min(ops.where(counts * times >= most, counts, most))


def is_random_state(variable):
    """Return whether a variable is the `[seed, counter]` of a dropout layer."""
    return variable.name == "seed_generator_state"


def split(batch, num_micro_batches):
    """Reshape each tensor of a batch: `[B, ...] -> [B / M, M, ...]`."""
    found = {}
    for key, value in batch.items():
        size = value.shape[0] // num_micro_batches
        shape = (num_micro_batches, size, *ops.shape(value)[1:])
        found[key] = ops.reshape(value, shape)
    return found


def finish(sums, gradients, num_micro_batches, clip_norm):
    """Return logs and gradients of a step from sums over micro-batches.

    The logs are a dict of the mean losses and the `gradient_norm` before
    clipping. A single factor averages the gradients and clips their global norm
    to `clip_norm`, unless that is 0.
    """
    scale = 1.0 / ops.cast(num_micro_batches, "float32")
    squares = (ops.sum(ops.square(ops.cast(g, "float32"))) for g in gradients)
    norm = scale * ops.sqrt(sum(squares))
    factor = scale
    if clip_norm:
        factor = scale * clip_norm / ops.maximum(norm, clip_norm)
    gradients = [g * ops.cast(factor, g.dtype) for g in gradients]
    logs = {key: value * scale for key, value in sums.items()}
    return {**logs, "gradient_norm": norm}, gradients
