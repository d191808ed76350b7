"""LSTM in place of the decoder blocks (section 5 of the paper)."""

import keras
from keras import ops

from gpt1_keras.layers import configured


@keras.saving.register_keras_serializable(package="gpt1_keras")
class LSTMBlock(configured.ConfiguredLayer):
    """One LSTM layer and a projection back to the width of the embedding.

    The paper does not mention the linear projection, but the tied softmax needs
    states of width `D`. There is no residual connection.

    Letters: as in `CausalSelfAttention`, and `U` num_units. The arguments are
    those of `LSTMBackbone`. All kernels are normal except the recurrent one,
    which is orthogonal (the paper states neither).

    Call arguments and return values are those of `DecoderBlock`, but the cache
    `[B, 2, 1, S, U]` holds the hidden and cell states after each position, and
    `allowed` must be None, because an LSTM sees every earlier position.
    """

    def __init__(
        self,
        *,
        hidden_dim,
        num_units,
        residual_dropout,
        initializer_range,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.hidden_dim = hidden_dim
        self.num_units = num_units
        self.residual_dropout = residual_dropout
        self.initializer_range = initializer_range
        self.lstm = keras.layers.LSTM(
            num_units,
            return_sequences=True,
            kernel_initializer=self._normal(),
            name="lstm",
            dtype=self.dtype_policy,
            # With cuDNN on JAX, an LSTM learned less (docs/log.md).
            use_cudnn=False if keras.config.backend() == "jax" else "auto",
        )
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.output_dropout = self._dropout(residual_dropout, "output_dropout")

    def build(self, input_shape):
        self.lstm.build(input_shape)
        self.output_dense.build((*input_shape[:-1], self.num_units))

    def call(
        self, x, cache=None, cache_update_index=0, allowed=None, training=False
    ):
        if allowed is not None:
            raise ValueError(
                "an LSTM cannot mask earlier positions: score one text per row"
            )
        if cache is None:
            # [B, T, D] -> [B, T, U]
            x = self.lstm(x, training=training)
        else:
            x, found = self._step_through(x, cache, cache_update_index)
        # [B, T, U] -> [B, T, D], float32 like the output of every block
        x = self.output_dropout(self.output_dense(x), training=training)
        x = ops.cast(x, "float32")
        return x if cache is None else (x, found)

    def _step_through(self, x, cache, index):
        """Continue from the states before column `index` of the cache."""
        x, cache = (ops.cast(v, self.lstm.compute_dtype) for v in (x, cache))
        # [B, 2, 1, S, U] -> [B, 2, 1 + S, U]: zeros before the first column
        states = ops.pad(cache[:, :, 0], ((0, 0), (0, 0), (1, 0), (0, 0)))
        # [B, 2, U]; a slice would make XLA compile again for every column.
        before = ops.take(states, index, axis=2)

        def step(states, x):
            _, states = self.lstm.cell(x, list(states))
            return tuple(states), tuple(states)

        start = (before[:, 0], before[:, 1])
        _, found = ops.scan(step, start, ops.transpose(x, (1, 0, 2)))
        # twice [T, B, U] -> [B, 2, T, U]
        found = ops.transpose(ops.stack(found), (2, 0, 1, 3))
        return found[:, 0], ops.expand_dims(found, 2)

    def compute_output_spec(self, x, **unused):
        return keras.KerasTensor(x.shape, dtype="float32")
