"""Causal self-attention with one fused projection, as released."""

import keras
from keras import ops

from gpt1_keras.layers import dropout as dropout_lib

# The released code sets forbidden scores to -1e9 (train.py, line 69).
FORBIDDEN_SCORE = -1e9


@keras.saving.register_keras_serializable(package="gpt1_keras")
class CausalSelfAttention(keras.layers.Layer):
    """Multi-head attention of each position to itself and those before it.

    Query, key and value come from one kernel `[D, 3D]`, in this order, each
    head-major (finetune-transformer-lm train.py, lines 86-129). Scores and
    softmax are float32 under every dtype policy.

    Letters: `B` batch, `T` query positions, `S` key positions, `D`
    hidden_dim, `H` num_heads, `K` head_dim = D / H.

    Args:
        hidden_dim: int. Width `D`.
        num_heads: int. `H`, a divisor of `D`.
        attention_dropout: float. Rate on the attention probabilities.
        residual_dropout: float. Rate on the output.
        initializer_range: float. Standard deviation of both kernels.

    Call arguments:
        x: float tensor `[B, T, D]`.
        cache: float tensor `[B, 2, S, H, K]` of keys and values, or None.
        cache_update_index: int or scalar tensor, column of the cache at
            which `x` begins.
        allowed: bool tensor `[B, T, S]`: which keys each query may see; None
            for itself and those before it.
        training: bool.

    Returns:
        `[B, T, D]`; with a cache, this and the updated cache.
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
            raise ValueError(
                f"hidden_dim {hidden_dim} is not a multiple of num_heads "
                f"{num_heads}"
            )
        self.hidden_dim = hidden_dim
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.residual_dropout = residual_dropout
        self.initializer_range = initializer_range
        self.head_dim = hidden_dim // num_heads

        self.query_key_value = self._dense(3 * hidden_dim, "query_key_value")
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.probability_dropout = dropout_lib.seeded_dropout(
            attention_dropout,
            name="probability_dropout",
            dtype=self.dtype_policy,
        )
        self.output_dropout = dropout_lib.seeded_dropout(
            residual_dropout, name="output_dropout", dtype=self.dtype_policy
        )

    def _dense(self, units, name):
        return keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.RandomNormal(
                stddev=self.initializer_range
            ),
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape):
        self.query_key_value.build(input_shape)
        self.output_dense.build(input_shape)
        self.built = True

    def call(
        self,
        x,
        cache=None,
        cache_update_index=0,
        allowed=None,
        training=False,
    ):
        # [B, T, D] -> [B, T, 3D] -> three times [B, T, H, K]
        query, key, value = (
            self._split_heads(part)
            for part in ops.split(self.query_key_value(x), 3, axis=-1)
        )
        if cache is not None:
            key, value, cache = self._update_cache(
                cache, cache_update_index, key, value
            )
        if allowed is None:
            allowed = causal_mask(
                ops.shape(query)[1], ops.shape(key)[1], cache_update_index
            )
        else:
            # [B, T, S] -> [B, 1, T, S]
            allowed = ops.expand_dims(allowed, 1)
        x = self._attend(query, key, value, allowed, training)
        x = self.output_dense(x)
        x = self.output_dropout(x, training=training)
        return x if cache is None else (x, cache)

    def _split_heads(self, x):
        shape = ops.shape(x)
        # [B, T, D] -> [B, T, H, K]
        return ops.reshape(
            x, (shape[0], shape[1], self.num_heads, self.head_dim)
        )

    def _update_cache(self, cache, index, key, value):
        start = (0, index, 0, 0)
        # [B, T, H, K] into [B, S, H, K] at column `index`
        key = ops.slice_update(cache[:, 0], start, key)
        value = ops.slice_update(cache[:, 1], start, value)
        return key, value, ops.stack([key, value], axis=1)

    def probabilities(self, x):
        """Return how much each position attends to each, `[B, H, T, T]`.

        Without dropout, in float32; for `x` as in the call.
        """
        query, key, _ = ops.split(self.query_key_value(x), 3, axis=-1)
        length = ops.shape(x)[1]
        return self._probabilities(
            self._split_heads(query),
            self._split_heads(key),
            causal_mask(length, length),
        )

    def _probabilities(self, query, key, allowed):
        # [B, T, H, K] -> [B, H, T, K]
        query = ops.transpose(query, (0, 2, 1, 3))
        # [B, S, H, K] -> [B, H, K, S]
        key = ops.transpose(key, (0, 2, 3, 1))

        # [B, H, T, K] x [B, H, K, S] -> [B, H, T, S]
        query = ops.multiply(query, self.head_dim**-0.5)
        scores = ops.cast(ops.matmul(query, key), "float32")
        scores = ops.where(allowed, scores, FORBIDDEN_SCORE)
        return ops.softmax(scores, axis=-1)

    def _attend(self, query, key, value, allowed, training):
        probabilities = ops.cast(
            self._probabilities(query, key, allowed), self.compute_dtype
        )
        probabilities = self.probability_dropout(
            probabilities, training=training
        )
        # [B, S, H, K] -> [B, H, S, K]
        value = ops.transpose(value, (0, 2, 1, 3))
        # [B, H, T, S] x [B, H, S, K] -> [B, H, T, K] -> [B, T, D]
        x = ops.transpose(ops.matmul(probabilities, value), (0, 2, 1, 3))
        shape = ops.shape(x)
        return ops.reshape(x, (shape[0], shape[1], self.hidden_dim))

    def compute_output_spec(
        self,
        x,
        cache=None,
        cache_update_index=0,
        allowed=None,
        training=False,
    ):
        output = keras.KerasTensor(x.shape, dtype=self.compute_dtype)
        if cache is None:
            return output
        return output, keras.KerasTensor(cache.shape, dtype=cache.dtype)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "hidden_dim": self.hidden_dim,
                "num_heads": self.num_heads,
                "attention_dropout": self.attention_dropout,
                "residual_dropout": self.residual_dropout,
                "initializer_range": self.initializer_range,
            }
        )
        return config


def causal_mask(num_queries, num_keys, first_position=0):
    """Return bool `[T, S]`: may query `first_position + t` see key `s`?

    | `causal_mask(3, 3)` | key 0 | key 1 | key 2 |
    |---------------------|-------|-------|-------|
    | query 0             | True  | False | False |
    | query 1             | True  | True  | False |
    | query 2             | True  | True  | True  |
    """
    queries = ops.arange(num_queries, dtype="int32") + first_position
    keys = ops.arange(num_keys, dtype="int32")
    return ops.expand_dims(keys, 0) <= ops.expand_dims(queries, 1)
