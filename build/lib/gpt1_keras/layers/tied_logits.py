"""Output projection tied to the token embedding."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="gpt1_keras")
class TiedLogits(keras.layers.Layer):
    """Logits of the vocabulary, `hidden x table^T`, without special tokens.

    The table is an input, not a weight: dropout on the embedding tables must
    reach the look-up and the logits with the same mask.

    Letters: `B` batch, `T` positions, `D` hidden_dim, `R` rows of the table,
    `V` vocabulary_size.

    Args:
        vocabulary_size: int. Rows `V` that get a logit.

    Call arguments:
        hidden: float tensor `[B, T, D]`.
        table: float tensor `[R, D]`, R >= V.

    Returns:
        float32 tensor `[B, T, V]`.
    """

    def __init__(self, *, vocabulary_size, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size

    def build(self, hidden_shape, table_shape):
        self.built = True

    def call(self, hidden, table):
        # [R, D] -> [V, D] -> [D, V]
        table = ops.transpose(table[: self.vocabulary_size])
        # [B, T, D] x [D, V] -> [B, T, V]
        logits = ops.matmul(ops.cast(hidden, self.compute_dtype), table)
        return ops.cast(logits, "float32")

    def compute_output_spec(self, hidden, table):
        return keras.KerasTensor(
            (*hidden.shape[:-1], self.vocabulary_size), dtype="float32"
        )

    def get_config(self):
        return super().get_config() | {"vocabulary_size": self.vocabulary_size}
