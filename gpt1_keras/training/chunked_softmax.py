"""Softmax over the vocabulary, one chunk of tokens at a time.

Logits exist for one chunk only, `[chunk_size, R]`. Tokens of weight zero are
skipped: a sort moves the weighted ones to the front, which keeps every shape
static, and the loop stops after the last of them.

Letters: `N` tokens, `D` hidden_dim, `R` rows of the table, `K` chunk_size.
"""

from keras import ops

from gpt1_keras.layers import fused


def cross_entropy(hidden, table, targets, weights, *, chunk_size):
    """Return `sum_i weights_i * -log softmax(hidden_i table^T)[targets_i]`.

    The same loop computes its gradient with respect to `hidden` and `table`:
    three matrix products per chunk, each computed once.

    Args:
        hidden: float tensor `[N, D]`.
        table: float tensor `[R, D]`. Products have its dtype.
        targets: int tensor `[N]`, below `R`.
        weights: float32 tensor `[N]`.
        chunk_size: int. Maximum number of tokens per chunk `K`; fewer if that
            makes the chunks equal.

    Returns:
        float32 scalar.
    """
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

    Takes the arguments of `cross_entropy`; only whether a weight is zero
    matters.

    Returns:
        float32 tensors `[N]`: the log-probability, and 1 where the target is
        the likeliest of all rows, else 0. Both are 0 where the weight is.
    """
    chunk_size = _even(ops.shape(weights)[0], chunk_size)
    order, count, num_tokens = _weighted_first(weights, chunk_size)
    # Sums in bfloat16 would round the scores.
    table = ops.cast(table, "float32")

    def body(index, scores, likeliest):
        rows, valid = _rows(order, count, index, chunk_size)
        log_p = _log_softmax(_chunk(hidden, rows, valid), table)
        target = ops.take(targets, rows, axis=0)
        chosen = ops.where(valid, _at(log_p, target), 0.0)
        best = ops.cast(ops.argmax(log_p, axis=-1), target.dtype)
        is_best = ops.cast(
            ops.logical_and(valid, ops.equal(best, target)), "float32"
        )
        start = (index * chunk_size,)
        scores = ops.slice_update(scores, start, chosen)
        likeliest = ops.slice_update(likeliest, start, is_best)
        return _next(index, chosen[0]), scores, likeliest

    size = (ops.shape(order)[0],)
    _, scores, likeliest = ops.while_loop(
        lambda index, *state: index * chunk_size < count,
        body,
        (
            _zero_index(),
            ops.zeros(size, dtype="float32"),
            ops.zeros(size, dtype="float32"),
        ),
    )
    places = _places(order, num_tokens)
    return ops.take(scores, places, axis=0), ops.take(likeliest, places, axis=0)


def _loss_and_gradients(hidden, table, targets, weights, chunk_size):
    chunk_size = _even(ops.shape(weights)[0], chunk_size)
    order, count, num_tokens = _weighted_first(weights, chunk_size)
    dtype = table.dtype

    def body(index, loss, hidden_gradient, table_gradient):
        rows, valid = _rows(order, count, index, chunk_size)
        # [K, D], [K], [K]
        h = ops.cast(_chunk(hidden, rows, valid), dtype)
        target = ops.take(targets, rows, axis=0)
        weight = ops.where(valid, ops.take(weights, rows, axis=0), 0.0)
        # [K, D] x [D, R] -> [K, R]
        logits = ops.matmul(h, ops.transpose(table))
        chunk_loss, error = _loss_and_error(logits, target, weight)
        loss = loss + chunk_loss
        # [K, R] x [R, D] -> [K, D]
        chunk_gradient = ops.cast(ops.matmul(error, table), "float32")
        hidden_gradient = ops.slice_update(
            hidden_gradient, (index * chunk_size, 0), chunk_gradient
        )
        # [R, K] x [K, D] -> [R, D]
        table_gradient = table_gradient + ops.cast(
            ops.matmul(ops.transpose(error), h), "float32"
        )
        index = _next(index, table_gradient[0, 0])
        return index, loss, hidden_gradient, table_gradient

    _, loss, hidden_gradient, table_gradient = ops.while_loop(
        lambda index, *state: index * chunk_size < count,
        body,
        (
            _zero_index(),
            ops.zeros((), dtype="float32"),
            ops.zeros((ops.shape(order)[0], hidden.shape[-1]), dtype="float32"),
            ops.zeros(table.shape, dtype="float32"),
        ),
    )
    hidden_gradient = ops.take(
        hidden_gradient, _places(order, num_tokens), axis=0
    )
    return loss, hidden_gradient, table_gradient


@fused.compiled
def _loss_and_error(logits, target, weight):
    """Return the weighted loss of a chunk and its gradient, `[K, R]`."""
    x = ops.cast(logits, "float32")
    rows = ops.arange(x.shape[1], dtype=target.dtype)
    # [K], [R] -> [K, R]
    is_target = ops.equal(ops.expand_dims(target, 1), rows)
    weight = ops.expand_dims(weight, 1)
    # exp(x - top) / total is the softmax
    top = ops.amax(x, axis=1, keepdims=True)
    exponential = ops.exp(x - top)
    total = ops.sum(exponential, axis=1, keepdims=True)
    loss = ops.sum(weight * (top + ops.log(total)))
    loss = loss - ops.sum(ops.where(is_target, x * weight, 0.0))
    error = exponential * (weight / total) - ops.where(is_target, weight, 0.0)
    return loss, ops.cast(error, logits.dtype)


def _even(num_tokens, chunk_size):
    """Return the size of equal chunks, rounded up to 16 tokens."""
    larger, smaller = max, min
    if not isinstance(num_tokens, int):  # a graph for any length
        larger, smaller = ops.maximum, ops.minimum
    num_chunks = larger(1, -(-num_tokens // chunk_size))
    size = larger(1, -(-num_tokens // num_chunks // 16)) * 16
    return smaller(chunk_size, size)


def _zero_index():
    return ops.zeros((), dtype="int32")


def _next(index, last_value):
    """Return `index + 1`, made to depend on `last_value`.

    TensorFlow runs up to ten independent iterations at once and would hold
    the logits of ten chunks.
    """
    never = ops.cast(last_value > float("inf"), "int32")
    return index + 1 + never


def _weighted_first(weights, chunk_size):
    """Return the order of tokens, the number of weighted ones, and `N`.

    The order is `[ceil(N / K) * K]`: weighted tokens first, then the others,
    then padding that repeats token 0.
    """
    num_tokens = ops.shape(weights)[0]
    is_weighted = ops.cast(weights != 0, "int32")
    order = ops.cast(ops.argsort(1 - is_weighted), "int32")
    padding = -num_tokens % chunk_size
    # ops.pad creates an object per call, so torch.compile would retrace
    padding = ops.zeros((padding,), dtype="int32")
    order = ops.concatenate([order, padding])
    return order, ops.sum(is_weighted), num_tokens


def _rows(order, count, index, chunk_size):
    """Return the tokens `[K]` of a chunk and which of them are weighted."""
    start = index * chunk_size
    rows = ops.slice(order, (start,), (chunk_size,))
    return rows, start + ops.arange(chunk_size, dtype="int32") < count


def _chunk(hidden, rows, valid):
    """Return the states `[K, D]` of a chunk, 0 where not valid."""
    # [N, D] at [K] -> [K, D]
    chosen = ops.take(hidden, rows, axis=0)
    return ops.where(ops.expand_dims(valid, 1), chosen, 0.0)


def _places(order, num_tokens):
    """Return the position in `order` of each of the `N` tokens."""
    return ops.argsort(order[:num_tokens])


def _log_softmax(h, table):
    # [K, D] x [D, R] -> [K, R]
    logits = ops.matmul(ops.cast(h, "float32"), ops.transpose(table))
    return ops.log_softmax(logits, axis=-1)


def _at(log_p, target):
    # [K, R] at [K] -> [K]
    chosen = ops.take_along_axis(log_p, ops.expand_dims(target, 1), axis=1)
    return ops.squeeze(chosen, axis=1)
