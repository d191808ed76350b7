"""The output projection: the embedding table, transposed."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="gpt1_keras")
class TiedLogits(keras.layers.Layer):
    """Scores of the vocabulary: `hidden x table^T`, specials left out.

    The table arrives as an input and not as a weight, because the faithful
    embedding dropout must reach both uses of it with one mask.

    Letters: `B` batch, `T` positions, `D` hidden_dim, `R` rows of the table,
    `V` vocabulary_size.

    Args:
        vocabulary_size: int. `V`, the rows scored.

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
        config = super().get_config()
        config.update({"vocabulary_size": self.vocabulary_size})
        return config
