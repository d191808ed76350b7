"""Causal self-attention with one fused projection for query, key, value."""

import functools

import keras
from keras import ops

from gpt1_keras import device
from gpt1_keras import errors
from gpt1_keras.layers import configured
from gpt1_keras.layers import dropout as dropout_lib
from gpt1_keras.layers import fused

# The released code sets forbidden scores to -1e9 (train.py, line 69).
FORBIDDEN_SCORE = -1e9
# Queries per block: smaller blocks mean more, but smaller matrix products.
BLOCK = 128


@keras.saving.register_keras_serializable(package="gpt1_keras")
class CausalSelfAttention(configured.ConfiguredLayer):
    """Multi-head self-attention in which position t sees positions <= t.

    Query, key and value come from one kernel `[D, 3D]`, in this order, each
    head-major (finetune-transformer-lm train.py, lines 86-129). The softmax is
    float32 under every dtype policy.

    Letters: `B` batch, `T` query positions, `N` = B T, `S` key positions,
    `D` hidden_dim, `H` num_heads, `K` head_dim = D / H. The arguments are those
    of `GPT1Backbone`.

    Call arguments:
        x: float tensor `[B, T, D]`.
        cache: float tensor `[B, 2, H, S, K]`, keys and values of the
            positions before `x`, or None.
        cache_update_index: int or scalar tensor. Number of these positions;
            further columns of the cache are not read.
        allowed: bool tensor `[B, T, T]`, the keys that each query may see, or
            None for the causal mask; not with a cache.

    Returns:
        float tensor `[B, T, D]`; with a cache also the keys and values of `x`,
        `[B, 2, H, T, K]`.
    """

    def __init__(
        self,
        *,
        hidden_dim,
        num_heads,
        attention_dropout,
        residual_dropout,
        initializer_range,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if hidden_dim % num_heads:
            raise errors.InputError(
                f"`num_heads` {num_heads} does not divide `hidden_dim` "
                f"{hidden_dim}: change one of them"
            )
        self.keep(locals())
        self.head_dim = hidden_dim // num_heads

        self.query_key_value = self._dense(3 * hidden_dim, "query_key_value")
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.probability_dropout = self._dropout(
            attention_dropout, "probability_dropout"
        )
        self.output_dropout = self._dropout(residual_dropout, "output_dropout")

    def build(self, input_shape):
        self.query_key_value.build(input_shape)
        self.output_dense.build(input_shape)

    def call(
        self, x, cache=None, cache_update_index=0, allowed=None, training=False
    ):
        shape = ops.shape(x)
        is_plain = cache is None and allowed is None
        if is_plain and not self._drops(training) and has_kernel():
            # [B, T, 3, H, K] -> three times [B, T, H, K]
            heads = ops.unstack(self._project(x)[0], 3, axis=2)
            return self._output(_kernel(*heads), shape, training)
        query, key, value = self._heads(x, training)
        if cache is not None:
            # [B, 2, H, T, K]
            found = ops.stack([key, value], axis=1)
            # [B, H, S, K], [B, H, T, K] -> [B, H, S + T, K]
            key = ops.concatenate([cache[:, 0], key], axis=2)
            value = ops.concatenate([cache[:, 1], value], axis=2)
            allowed = _cached_mask(
                shape[1], ops.shape(cache)[3], cache_update_index
            )
        elif allowed is not None:
            # [B, T, T] -> [B, 1, T, T]
            allowed = ops.expand_dims(allowed, 1)
        if is_plain:
            x = self._attend_causally(query, key, value, training)
        else:
            x = self._attend(query, key, value, allowed, training)
        x = self._output(_swap(x), shape, training)
        return x if cache is None else (x, found)

    def _attend_causally(self, query, key, value, training):
        """Attend in blocks of queries, each block to the keys up to its end.

        Most forbidden scores are never computed. Tensors are `[B, H, T, K]`.
        """
        length = ops.shape(query)[2]
        allowed = causal_mask(length)
        # In a graph for any length, `length` is a tensor.
        count = _num_blocks(length) if isinstance(length, int) else 1
        if count == 1:
            return self._attend(query, key, value, allowed, training)
        # Split, not sliced: TensorFlow computes the gradient of slices slowly.
        parts = [ops.split(x, count, axis=2) for x in (query, key, value)]
        masks, found = ops.split(allowed, count, axis=0), []
        for i, query in enumerate(parts[0], start=1):
            key, value = (ops.concatenate(x[:i], axis=2) for x in parts[1:])
            seen = masks[i - 1][:, : key.shape[2]]
            found.append(self._attend(query, key, value, seen, training))
        return ops.concatenate(found, axis=2)

    def _attend(self, query, key, value, allowed, training):
        """Return the attended values `[B, H, T, K]`."""
        scores = self._scores(query, key)
        rate, source = 0.0, []
        if self._drops(training):
            rate = self.probability_dropout.rate
            source = [self.probability_dropout.draw(ops.shape(scores))]
        softmax = _softmax(self.compute_dtype, rate)
        probabilities = softmax(scores, allowed, *source, training=training)
        # [B, H, T, S] x [B, H, S, K] -> [B, H, T, K]
        return ops.matmul(probabilities, value)

    def _output(self, x, shape, training):
        """Project the joined heads: [B, T, H, K] -> [N, D] -> [B, T, D]."""
        x = ops.reshape(x, (-1, self.hidden_dim))
        x, bias = fused.product(self.output_dense, x, training)
        x = self.output_dropout(x, bias, training=training)
        return ops.reshape(x, shape)

    def _heads(self, x, training=False):
        """Return query, key and value, each `[B, H, T, K]`."""
        x, bias = self._project(x, training)
        # [B, T, 3, H, K] -> [3, B, H, T, K]
        x = _to_front(x, bias=bias, training=training)
        return ops.unstack(x, 3, axis=0)

    def _project(self, x, training=False):
        """Return query, key, value `[B, T, 3, H, K]` and a bias for a loop.

        The bias is `[3, H, K]`, or None (`fused.product`).
        """
        shape = (*ops.shape(x)[:2], 3, self.num_heads, self.head_dim)
        # [B, T, D] -> [N, D] -> [N, 3D]
        x = ops.reshape(x, (-1, self.hidden_dim))
        x, bias = fused.product(self.query_key_value, x, training)
        if bias is not None:
            # [3D] -> [3, H, K]
            bias = ops.reshape(bias, shape[2:])
        return ops.reshape(x, shape), bias

    def _scores(self, query, key):
        # [B, H, S, K] -> [B, H, K, S]
        key = ops.transpose(key, (0, 1, 3, 2))
        # [B, H, T, K] x [B, H, K, S] -> [B, H, T, S]
        return ops.matmul(ops.multiply(query, self.head_dim**-0.5), key)

    def _drops(self, training):
        return training and self.probability_dropout.rate > 0

    def probabilities(self, x):
        """Return float32 attention weights `[B, H, T, T]`, without dropout."""
        query, key, _ = self._heads(x)
        scores = self._scores(query, key)
        return masked_softmax(scores, causal_mask(ops.shape(x)[1]))


def _num_blocks(length):
    """Return the number of equal blocks of at most `BLOCK` queries.

    torch.compile supports no split into unequal parts, so the number is 1 if
    only much smaller blocks would be equal, as for a prime length.
    """
    least = -(-length // BLOCK)
    counts = (n for n in range(least, 2 * least) if length % n == 0)
    return next(counts, 1)


def has_kernel():
    """Return whether the backend has a fused attention kernel worth using.

    TensorFlow has none; on a CPU, torch's is no faster (docs/log.md). A kernel
    keeps no `[B, H, T, T]` in memory, but cannot use Keras's seeds for dropout.
    """
    return keras.config.backend() != "tensorflow" and device.kind() == "gpu"


def _kernel(query, key, value):
    """Attend causally with the backend's kernel; all are `[B, T, H, K]`."""
    # torch itself chooses the fastest.
    flash = False if keras.config.backend() == "torch" else None
    return ops.dot_product_attention(
        query, key, value, is_causal=True, flash_attention=flash
    )


_to_front = fused.fused(
    lambda x: ops.transpose(x, (2, 0, 3, 1, 4)),
    inverse=lambda x: ops.transpose(x, (1, 3, 0, 2, 4)),
)


def _swap(x):
    """Transpose [B, T, H, K] -> [B, H, T, K], or back."""
    return ops.transpose(x, (0, 2, 1, 3))


def masked_softmax(scores, allowed):
    """Return the float32 softmax of scores `[B, H, T, S]` over allowed keys.

    `allowed` is bool `[T, S]` or `[B, 1, T, S]`.
    """
    return ops.softmax(_masked(scores, allowed), axis=-1)


def _masked(scores, allowed):
    scores = ops.cast(scores, "float32")
    return ops.where(allowed, scores, FORBIDDEN_SCORE)


@functools.cache
def _softmax(dtype, dropout=0.0):
    """Return masked softmax and dropout as one loop, shared by all layers."""

    def drop(x, source):
        return dropout_lib.drop(x, *source, dropout) if source else x

    def weights(scores, allowed, *source):
        return ops.cast(drop(masked_softmax(scores, allowed), source), dtype)

    def log_sum(scores, allowed, *source):
        # [B, H, T, S] -> [B, H, T, 1]; XLA shares these loops with `weights`.
        x = _masked(scores, allowed)
        top = ops.amax(x, axis=-1, keepdims=True)
        return top + ops.log(ops.sum(ops.exp(x - top), axis=-1, keepdims=True))

    def gradient(dy, log_sum, scores, allowed, *source):
        softmax = ops.exp(_masked(scores, allowed) - log_sum)
        dy = drop(ops.cast(dy, "float32"), source)
        mean = ops.sum(softmax * dy, axis=-1, keepdims=True)
        return ops.cast(softmax * (dy - mean), scores.dtype)

    return fused.fused(weights, summary=log_sum, gradient=gradient)


def causal_mask(length):
    """Return bool `[T, T]`: whether query `t` sees key `s`.

    Examples:
        >>> ops.convert_to_numpy(causal_mask(3)).astype(int)
        array([[1, 0, 0],
               [1, 1, 0],
               [1, 1, 1]])
    """
    positions = ops.arange(length, dtype="int32")
    return ops.expand_dims(positions, 0) <= ops.expand_dims(positions, 1)


def _cached_mask(length, num_columns, num_used):
    """Return bool `[T, S + T]`: used columns of the cache, then causal."""
    used = ops.arange(num_columns, dtype="int32") < num_used
    used = ops.broadcast_to(used, (length, num_columns))
    return ops.concatenate([used, causal_mask(length)], axis=1)
