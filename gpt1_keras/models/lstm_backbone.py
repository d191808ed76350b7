"""LSTM baseline of the paper with the interface of `GPT1Backbone`."""

import keras

from gpt1_keras.layers import lstm_block
from gpt1_keras.models import backbone


@keras.saving.register_keras_serializable(package="gpt1_keras")
class LSTMBackbone(backbone.GPT1Backbone):
    """`GPT1Backbone` with one LSTM layer in place of the decoder blocks.

    The embedding (with positions), its dropout and the tied softmax are those
    of the Transformer, so that only what is between them differs.

    Args:
        num_units: int. Units of the LSTM.
        **others: see `GPT1Backbone`, also for call arguments and returns.

    Reference: Radford et al. 2018, section 5: "a single layer 2048 unit LSTM
    using the same framework".
    """

    can_share_prefix = False

    def __init__(
        self,
        *,
        vocabulary_size,
        num_units,
        hidden_dim,
        max_sequence_length,
        embedding_dropout,
        residual_dropout,
        embedding_dropout_on,
        initializer_range,
        num_special_tokens=0,
        dtype=None,
        **kwargs,
    ):
        # === Layers ===
        arguments = dict(locals())
        blocks = (
            lstm_block.LSTMBlock(
                hidden_dim=hidden_dim,
                num_units=num_units,
                residual_dropout=residual_dropout,
                initializer_range=initializer_range,
                dtype=dtype,
                name=name,
            )
            for name in ("lstm_block",)
        )
        self._assemble(blocks, arguments)

    @property
    def num_layers(self):
        return 1

    def cache_shape(self, batch_size, length):
        """Return the shape of the cache of states, `[B, 1, 2, 1, S, U]`."""
        return (batch_size, 1, 2, 1, length, self.num_units)

    def flops_per_token(self, length, *, with_softmax=True):
        """See `GPT1Backbone`; there is no attention."""
        return super().flops_per_token(0, with_softmax=with_softmax)

    def default_lora_layer_names(self):
        return ["output_dense"]
