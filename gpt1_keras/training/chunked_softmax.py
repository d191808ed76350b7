"""Softmax over the vocabulary, one chunk of tokens at a time.

Only the logits of one chunk are in memory, `[chunk_size, R]`. Tokens of weight
zero are skipped: a sort moves the weighted ones to the front, which keeps all
shapes static, and the loop stops after the last of these.

Letters: `N` tokens, `D` hidden_dim, `R` rows of the table, `K` chunk_size.
Axes of tokens, such as `[B, T]`, are written `...`.
"""

from keras import ops

from gpt1_keras.layers import fused


def cross_entropy(hidden, table, targets, weights, *, chunk_size):
    """Return `sum_i weights_i * -log softmax(hidden_i table^T)[targets_i]`.

    The same loop computes its gradient with respect to `hidden` and `table`:
    three matrix products per chunk, each computed once.

    Args:
        hidden: float tensor `[..., D]`.
        table: float tensor `[R, D]`. Products are computed in its dtype.
        targets, weights: int and float32 tensors `[...]`.
        chunk_size: int. Most tokens `K` per chunk; there are fewer if that
            makes the chunks equal.
    """
    hidden, targets, weights = _flat(hidden, targets, weights)
    targets, weights = ops.stop_gradient(targets), ops.stop_gradient(weights)

    @ops.custom_gradient
    def weighted_sum(hidden, table):
        loss, hidden_gradient, table_gradient = _loss_and_gradients(
            hidden, table, targets, weights, chunk_size
        )

        def gradient(*args, upstream=None):
            upstream = args[-1] if upstream is None else upstream
            return (
                ops.cast(hidden_gradient * upstream, hidden.dtype),
                ops.cast(table_gradient * upstream, table.dtype),
            )

        return loss, gradient

    return weighted_sum(hidden, table)


def log_probabilities(hidden, table, targets, weights, *, chunk_size):
    """Return `log softmax(hidden_i table^T)[targets_i]`, for evaluation.

    Takes the arguments of `cross_entropy`. Returns float32 tensors `[...]`: the
    log-probability, and 1 where the target is the likeliest of all rows, else
    0. Both are 0 where the weight is.
    """
    shape = ops.shape(weights)
    hidden, targets, weights = _flat(hidden, targets, weights)
    # In bfloat16, the scores would be rounded.
    table = ops.cast(table, "float32")

    def body(rows, valid, h):
        # [K, D] x [D, R] -> [K, R]
        logits = ops.matmul(ops.cast(h, "float32"), ops.transpose(table))
        log_p = ops.log_softmax(logits, axis=-1)
        target = ops.take(targets, rows, axis=0)
        # [K, R] at [K, 1] -> [K, 1] -> [K]
        chosen = ops.take_along_axis(log_p, ops.expand_dims(target, 1), axis=1)
        chosen = ops.where(valid, ops.squeeze(chosen, axis=1), 0.0)
        best = ops.cast(ops.argmax(log_p, axis=-1), target.dtype)
        is_best = ops.logical_and(valid, ops.equal(best, target))
        return chosen, ops.cast(is_best, "float32")

    found = _loop(body, [(), ()], [], hidden, weights, chunk_size)
    return [ops.reshape(values, shape) for values in found]


def _flat(hidden, targets, weights):
    """Put tokens on one axis: `[..., D]`, `[...]` -> `[N, D]`, `[N]`."""
    hidden = ops.reshape(hidden, (-1, hidden.shape[-1]))
    return hidden, ops.reshape(targets, (-1,)), ops.reshape(weights, (-1,))


def _loss_and_gradients(hidden, table, targets, weights, chunk_size):
    def body(rows, valid, h, loss, table_gradient):
        h = ops.cast(h, table.dtype)
        target = ops.take(targets, rows, axis=0)
        weight = ops.where(valid, ops.take(weights, rows, axis=0), 0.0)
        # [K, D] x [D, R] -> [K, R]
        logits = ops.matmul(h, ops.transpose(table))
        chunk_loss, error = _loss_and_error(logits, target, weight)
        # [K, R] x [R, D] -> [K, D]
        hidden_gradient = ops.cast(ops.matmul(error, table), "float32")
        # [R, K] x [K, D] -> [R, D]
        table_gradient = table_gradient + ops.cast(
            ops.matmul(ops.transpose(error), h), "float32"
        )
        return hidden_gradient, loss + chunk_loss, table_gradient

    sums = [ops.zeros(shape, dtype="float32") for shape in ((), table.shape)]
    hidden_gradient, loss, table_gradient = _loop(
        body, [hidden.shape[-1:]], sums, hidden, weights, chunk_size
    )
    return loss, hidden_gradient, table_gradient


def _loop(body, shapes, sums, hidden, weights, chunk_size):
    """Call `body` for each chunk that has tokens of non-zero weight.

    `body` gets a chunk's tokens `[K]`, whether each has a weight `[K]`, their
    states `[K, D]` (0 without a weight), and the `sums` so far. It returns
    float32 values `[K, ...]` of the tokens, whose `shapes` are given without
    `K`, then the new sums. `_loop` returns the values `[N, ...]`, 0 for weight
    zero, then the sums.
    """
    num_tokens = ops.shape(weights)[0]
    chunk_size = _even(num_tokens, chunk_size)
    is_weighted = ops.cast(weights != 0, "int32")
    count = ops.sum(is_weighted)
    order = ops.cast(ops.argsort(1 - is_weighted), "int32")
    # ops.pad creates an object per call, so torch.compile would retrace
    padding = ops.zeros((-num_tokens % chunk_size,), dtype="int32")
    # [ceil(N / K) * K]: weighted tokens, the others, then token 0 again
    padded = ops.concatenate([order, padding])
    zero = ops.zeros((), dtype="int32")  # JAX_ENABLE_X64 makes 0 an int64

    def step(index, *state):
        start = index * chunk_size
        rows = ops.slice(padded, (start,), (chunk_size,))
        valid = start + ops.arange(chunk_size, dtype="int32") < count
        # [N, D] at [K] -> [K, D]
        h = ops.take(hidden, rows, axis=0)
        h = ops.where(ops.expand_dims(valid, 1), h, 0.0)
        found = body(rows, valid, h, *state[len(shapes) :])
        values = (
            ops.slice_update(whole, (start, *(zero for _ in shape)), value)
            for whole, shape, value in zip(state, shapes, found)
        )
        # TensorFlow runs up to ten independent iterations at once and would
        # hold the logits of ten chunks: the index depends on the last result.
        last = ops.reshape(found[-1], (-1,))[0]
        index = index + 1 + ops.cast(last > float("inf"), "int32")
        return index, *values, *found[len(shapes) :]

    size = ops.shape(padded)[0]
    values = [ops.zeros((size, *shape), dtype="float32") for shape in shapes]
    _, *state = ops.while_loop(
        lambda index, *state: index * chunk_size < count,
        step,
        (zero, *values, *sums),
    )
    places = ops.argsort(order)  # of each token in the order
    values = (ops.take(x, places, axis=0) for x in state[: len(shapes)])
    return *values, *state[len(shapes) :]


@fused.compiled
def _loss_and_error(logits, target, weight):
    """Return the weighted loss of a chunk and its gradient, `[K, R]`."""
    x = ops.cast(logits, "float32")
    rows = ops.arange(x.shape[1], dtype=target.dtype)
    # [K, 1], [R] -> [K, R]
    target = ops.expand_dims(target, 1)
    is_target = ops.equal(target, rows)
    # A look-up takes less time than a sum over `is_target`.
    chosen = ops.cast(ops.take_along_axis(logits, target, axis=1), "float32")
    weight = ops.expand_dims(weight, 1)
    # exp(x - top) / total is the softmax
    top = ops.amax(x, axis=1, keepdims=True)
    exponential = ops.exp(x - top)
    total = ops.sum(exponential, axis=1, keepdims=True)
    loss = ops.sum(weight * (top + ops.log(total) - chosen))
    error = exponential * (weight / total) - ops.where(is_target, weight, 0.0)
    return loss, ops.cast(error, logits.dtype)


def _even(num_tokens, chunk_size):
    """Return the size of equal chunks, rounded up to a multiple of 16."""
    larger, smaller = max, min
    if not isinstance(num_tokens, int):  # a graph for any length
        larger, smaller = ops.maximum, ops.minimum
    num_chunks = larger(1, -(-num_tokens // chunk_size))
    size = larger(1, -(-num_tokens // num_chunks // 16)) * 16
    return smaller(chunk_size, size)
