"""Task heads: from the states at the candidates' extract tokens to logits.

Every benchmark has `C` candidate sequences per example (figure 1 of the
paper). Letters: `B` batch, `C` candidates, `D` hidden_dim, `Y` classes.
"""

import keras
from keras import ops

from gpt1_keras.layers import configured


@keras.saving.register_keras_serializable(package="gpt1_keras")
class StatesAt(keras.layers.Layer):
    """Hidden states `[N, T, D]` at positions `[B, C]` -> `[B, C, D]`.

    `N` is `B` if the positions of a row are in one sequence, else `B * C`.
    Keras's `take_along_axis` would copy and transpose all states on TensorFlow.
    """

    def call(self, hidden, positions):
        rows, length, width = ops.shape(hidden)
        starts = length * ops.arange(rows, dtype=positions.dtype)
        # [B, C], in a table [N * T, D]
        places = ops.reshape(positions, (rows, -1)) + starts[:, None]
        places = ops.reshape(places, ops.shape(positions))
        # [N * T, D] at [B, C] -> [B, C, D]
        return ops.take(ops.reshape(hidden, (-1, width)), places, axis=0)


def read_extract(head, hidden):
    """Return an input of extract positions `[B, C]`, and the logits there."""
    positions = keras.Input((None,), dtype="int32", name="extract_position")
    # [N, T, D] at [B, C] -> [B, C, D] -> [B, Y]
    gather = StatesAt(name="gather_extract", dtype="float32")
    return positions, head(gather(hidden, positions))


class _Dense(keras.layers.Dense):
    """A dense layer that stays in float32 when a model is quantized.

    It is small, and the saved head would not say that it is quantized.
    """

    def quantize(self, mode=None, type_check=True, config=None):
        pass


class _Head(configured.ConfiguredLayer):
    """Dropout and one dense layer on the extract states `[B, C, D]`."""

    # Shape of the dropout mask; None: that of the features.
    noise_shape = None

    def __init__(
        self,
        *,
        num_outputs=1,
        dropout,
        initializer_range,
        score_range=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep(locals())
        self.dense = _Dense(
            num_outputs,
            kernel_initializer=self._normal(),
            name="dense",
            dtype="float32",
        )
        self.feature_dropout = self._dropout(
            dropout, "feature_dropout", "float32", noise_shape=self.noise_shape
        )

    def build(self, input_shape):
        self.dense.build(input_shape)


@keras.saving.register_keras_serializable(package="gpt1_keras")
class SumHead(_Head):
    """Logits of the classes from the sum over candidates.

    Classification and entailment have one candidate. Similarity has two, the
    two orders of the pair, added before the linear layer (section 3.3).
    Features `[B, C, D]` become float32 logits `[B, Y]`.

    Args:
        num_outputs: int. Classes `Y`; 1 for a score.
        dropout: float. Dropout rate of the summed features.
        initializer_range: float. Standard deviation of the kernel.
        score_range: list of the lowest and the highest score, to which the
            dense layer's -1 and 1 are mapped; None: its outputs are the logits.
    """

    def call(self, features, training=False):
        # [B, C, D] -> [B, D] -> [B, Y]
        features = ops.sum(features, axis=1)
        logits = self.dense(self.feature_dropout(features, training=training))
        if self.score_range is None:
            return logits
        low, high = self.score_range
        return (low + high + (high - low) * logits) / 2


@keras.saving.register_keras_serializable(package="gpt1_keras")
class ChoiceHead(_Head):
    """One logit per candidate, for a softmax over candidates.

    All candidates of an example share one dropout mask
    (finetune-transformer-lm train.py, lines 184-188). Features `[B, C, D]`
    become float32 logits `[B, C]`. The arguments are those of `SumHead`, but
    `num_outputs` and `score_range` are always 1 and None.
    """

    noise_shape = (None, 1, None)  # [B, 1, D]

    def call(self, features, training=False):
        features = self.feature_dropout(features, training=training)
        # [B, C, D] -> [B, C, 1] -> [B, C]
        return ops.squeeze(self.dense(features), axis=-1)
