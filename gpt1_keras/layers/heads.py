"""Heads: from the extract state of each candidate to the task's logits.

Every benchmark is `C` candidate sequences (figure 1 of the paper). Letters:
`B` batch, `C` candidates, `D` hidden_dim, `Y` classes.
"""

import keras
from keras import ops

from gpt1_keras.layers import dropout as dropout_lib


class _Head(keras.layers.Layer):
    """Dropout and one dense layer on the extract states `[B, C, D]`."""

    def __init__(self, *, num_outputs, dropout, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.num_outputs = num_outputs
        self.dropout = dropout
        self.initializer_range = initializer_range
        self.dense = keras.layers.Dense(
            num_outputs,
            kernel_initializer=keras.initializers.RandomNormal(
                stddev=initializer_range
            ),
            name="dense",
            dtype="float32",
        )

    def _dropout(self, noise_shape):
        return dropout_lib.seeded_dropout(
            self.dropout,
            noise_shape=noise_shape,
            name="feature_dropout",
            dtype="float32",
        )

    def build(self, input_shape):
        self.dense.build((*input_shape[:-1], input_shape[-1]))
        self.built = True

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "num_outputs": self.num_outputs,
                "dropout": self.dropout,
                "initializer_range": self.initializer_range,
            }
        )
        return config


@keras.saving.register_keras_serializable(package="gpt1_keras")
class SumHead(_Head):
    """Classes from the sum over candidates.

    One candidate: classification and entailment. Two: similarity, whose two
    orders are added element-wise before the linear layer (section 3.3).

    Args:
        num_outputs: int. Classes `Y`; 1 for a score.
        dropout: float. Rate on the summed features.
        initializer_range: float. Standard deviation of the kernel.

    Call arguments:
        features: float tensor `[B, C, D]`.
        training: bool.

    Returns:
        float32 logits `[B, Y]`.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.feature_dropout = self._dropout(noise_shape=None)

    def call(self, features, training=False):
        # [B, C, D] -> [B, D] -> [B, Y]
        features = ops.sum(features, axis=1)
        return self.dense(self.feature_dropout(features, training=training))

    def compute_output_spec(self, features, training=False):
        return keras.KerasTensor(
            (features.shape[0], self.num_outputs), dtype="float32"
        )


@keras.saving.register_keras_serializable(package="gpt1_keras")
class ChoiceHead(_Head):
    """One logit per candidate; softmax over candidates picks the answer.

    All candidates of an example share one dropout mask (train.py, lines
    184-188).

    Args:
        dropout: float. Rate on the features.
        initializer_range: float. Standard deviation of the kernel.
        num_outputs: int. Always 1; here for serialisation.

    Call arguments:
        features: float tensor `[B, C, D]`.
        training: bool.

    Returns:
        float32 logits `[B, C]`.
    """

    def __init__(self, *, num_outputs=1, **kwargs):
        super().__init__(num_outputs=num_outputs, **kwargs)
        # One mask [B, 1, D] for the C candidates of an example.
        self.feature_dropout = self._dropout(noise_shape=(None, 1, None))

    def call(self, features, training=False):
        features = self.feature_dropout(features, training=training)
        # [B, C, D] -> [B, C, 1] -> [B, C]
        return ops.squeeze(self.dense(features), axis=-1)

    def compute_output_spec(self, features, training=False):
        return keras.KerasTensor(features.shape[:2], dtype="float32")
