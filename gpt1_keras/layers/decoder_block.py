"""Post-norm decoder block: self-attention, then a feed-forward network."""

import functools

import keras
from keras import ops

from gpt1_keras.layers import attention
from gpt1_keras.layers import configured
from gpt1_keras.layers import feed_forward
from gpt1_keras.layers import fused


@keras.saving.register_keras_serializable(package="gpt1_keras")
class DecoderBlock(configured.ConfiguredLayer):
    """`n = norm(x + attention(x)); norm(n + feed_forward(n))`.

    The norm follows the sum (post-norm; finetune-transformer-lm train.py,
    lines 140-147). Norms, sums and outputs are always float32;
    the first block's input, that of the embedding, has the compute dtype.

    The arguments are those of `GPT1Backbone`. Call arguments and return values
    are those of `CausalSelfAttention`, except that the states are float32.
    """

    def __init__(
        self,
        *,
        hidden_dim,
        num_heads,
        intermediate_dim,
        attention_dropout,
        residual_dropout,
        layer_norm_epsilon,
        initializer_range,
        **kwargs,
    ):
        # Without autocast the float32 residual stream stays float32.
        super().__init__(autocast=False, **kwargs)
        self.keep(locals())

        self.attention = attention.CausalSelfAttention(
            hidden_dim=hidden_dim,
            num_heads=num_heads,
            attention_dropout=attention_dropout,
            residual_dropout=residual_dropout,
            initializer_range=initializer_range,
            name="attention",
            dtype=self.dtype_policy,
        )
        self.attention_norm = self._norm("attention_norm")
        self.feed_forward = feed_forward.FeedForward(
            hidden_dim=hidden_dim,
            intermediate_dim=intermediate_dim,
            residual_dropout=residual_dropout,
            initializer_range=initializer_range,
            name="feed_forward",
            dtype=self.dtype_policy,
        )
        self.feed_forward_norm = self._norm("feed_forward_norm")

    def _norm(self, name):
        """Return a norm that holds its weights; `_add_norm` computes it."""
        return keras.layers.LayerNormalization(
            epsilon=self.layer_norm_epsilon, name=name, dtype="float32"
        )

    def build(self, input_shape):
        self.attention.build(input_shape)
        self.attention_norm.build(input_shape)
        self.feed_forward.build(input_shape)
        self.feed_forward_norm.build(input_shape)

    def call(
        self, x, cache=None, cache_update_index=0, allowed=None, training=False
    ):
        attended = self.attention(
            x,
            cache=cache,
            cache_update_index=cache_update_index,
            allowed=allowed,
            training=training,
        )
        if cache is not None:
            attended, found = attended
        add_norm = _add_norm(self.layer_norm_epsilon)
        first, second = self.attention_norm, self.feed_forward_norm
        x = add_norm(x, attended, first.gamma, first.beta, training=training)
        fed = self.feed_forward(x, training=training)
        x = add_norm(x, fed, second.gamma, second.beta, training=training)
        return x if cache is None else (x, found)

    def compute_output_spec(self, x, **unused):
        return keras.KerasTensor(x.shape, dtype="float32")


@functools.cache
def _add_norm(epsilon):
    """Return residual sum and layer norm, in float32, as one loop."""

    def norm(x, y, gamma, beta):
        x = ops.add(ops.cast(x, "float32"), ops.cast(y, "float32"))
        return ops.layer_normalization(x, gamma, beta, epsilon=epsilon)

    return fused.fused(norm)
