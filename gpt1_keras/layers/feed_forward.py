"""Position-wise feed-forward network of a decoder block."""

import keras
from keras import ops

from gpt1_keras.layers import configured
from gpt1_keras.layers import fused


@fused.fused
def _gelu(x):
    """Return GELU in its tanh form, in the dtype of `x`.

    `1 + tanh(u) = 2 sigmoid(2u)`, and a sigmoid takes less time.
    """
    y = ops.cast(x, "float32")
    # 2u = 2 sqrt(2 / pi) (y + 0.044715 y^3)
    argument = y * (1.5957691216057308 + 0.0713548162726 * (y * y))
    return ops.cast(y * ops.sigmoid(argument), x.dtype)


@keras.saving.register_keras_serializable(package="gpt1_keras")
class FeedForward(configured.ConfiguredLayer):
    """Dense layer, GELU in its tanh form, dense layer, dropout.

    As in finetune-transformer-lm train.py, lines 131-138. Letters: `B` batch,
    `T` positions, `N` = B T, `D` hidden_dim, `F` intermediate_dim. Input and
    output are `[B, T, D]`. The arguments are those of `GPT1Backbone`.
    """

    def __init__(
        self,
        *,
        hidden_dim,
        intermediate_dim,
        residual_dropout,
        initializer_range,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep(locals())

        self.intermediate_dense = self._dense(
            intermediate_dim, "intermediate_dense"
        )
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.output_dropout = self._dropout(residual_dropout, "output_dropout")

    def build(self, input_shape):
        self.intermediate_dense.build(input_shape)
        self.output_dense.build((*input_shape[:-1], self.intermediate_dim))

    def call(self, x, training=False):
        shape = ops.shape(x)
        # [B, T, D] -> [N, D] -> [N, F]
        x = ops.reshape(x, (-1, self.hidden_dim))
        x, bias = fused.product(self.intermediate_dense, x, training)
        x = _gelu(x, bias=bias, training=training)
        x, bias = fused.product(self.output_dense, x, training)
        x = self.output_dropout(x, bias, training=training)
        # [N, D] -> [B, T, D]
        return ops.reshape(x, shape)
