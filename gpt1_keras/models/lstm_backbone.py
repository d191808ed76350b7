"""LSTM baseline of the paper with the interface of `GPT1Backbone`."""

import keras

from gpt1_keras.layers import lstm_block
from gpt1_keras.models import backbone


@keras.saving.register_keras_serializable(package="gpt1_keras")
class LSTMBackbone(backbone.GPT1Backbone):
    """`GPT1Backbone` with one LSTM layer in place of the decoder blocks.

    In the paper, "a single layer 2048 unit LSTM using the same framework"
    (section 5): only what is between embedding and softmax differs. `num_units`
    is the width of the LSTM; the other arguments, inputs and outputs are those
    of `GPT1Backbone`.
    """

    can_share_prefix = False
    num_layers = 1

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
        arguments = dict(locals())
        # === Layers ===
        self.token_and_position_embedding = self._embedding(arguments)
        block = lstm_block.LSTMBlock(
            hidden_dim=hidden_dim,
            num_units=num_units,
            residual_dropout=residual_dropout,
            initializer_range=initializer_range,
            dtype=dtype,
            name="lstm_block",
        )
        self.decoder_blocks = [block]
        self._connect(arguments)

    def cache_shape(self, batch_size, length):
        """Return the shape of the cache of states, `[B, 1, 2, 1, S, U]`."""
        return (batch_size, 1, 2, 1, length, self.num_units)

    def flops_per_token(self, length, *, with_softmax=True):
        """See `GPT1Backbone`; there is no attention."""
        return super().flops_per_token(0, with_softmax=with_softmax)

    def default_lora_layer_names(self):
        return ["output_dense"]
