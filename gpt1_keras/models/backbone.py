"""GPT-1 network from token ids to hidden states."""

import math

import keras
import keras_hub
import numpy as np

from gpt1_keras import checks
from gpt1_keras.layers import configured
from gpt1_keras.layers import decoder_block
from gpt1_keras.layers import embedding
from gpt1_keras.models import loading


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1Backbone(
    configured.Configured, loading.ToPreset, keras_hub.models.Backbone
):
    """The decoder of Radford et al. 2018 as a KerasHub backbone.

    It has post-norm blocks, learned positions, no norm after the embedding and
    no further one at the end (sections 3.1 and 4.1). Attention is causal and
    padding is on the right, so no padding mask is needed: `padding_mask`, which
    KerasHub's preprocessors pass, has no effect.

    Args:
        vocabulary_size: int. Tokens `V` without special tokens.
        num_layers: int. Decoder blocks `L`.
        num_heads: int. Attention heads `H`; must divide `D`.
        hidden_dim: int. Width `D`.
        intermediate_dim: int. Width inside the feed-forward networks.
        max_sequence_length: int. Positions `P`.
        embedding_dropout: float. Dropout rate of the embedding.
        attention_dropout: float. Dropout rate of attention probabilities.
        residual_dropout: float. Dropout rate of every sub-layer's output.
        embedding_dropout_on: `"tables"` (as released: one mask on the
            embedding tables, shared with the softmax) or `"activations"`.
        layer_norm_epsilon: float. Added to the variance in every norm.
        initializer_range: float. Standard deviation of every matrix.
        num_special_tokens: int. `S`: 0 or 3 (start, delimiter, extract).
        residual_scale: float. Factor on the initial output kernels of attention
            and feed-forward network in each block: 1 in the paper; with less,
            small networks learn faster (docs/log.md).
        position_initializer: `"normal"` as in the paper, or `"sinusoids"`, with
            the same standard deviation.
        dtype: dtype or policy of computation and weights.

    Called with a dict of int `token_ids` and `padding_mask`, each `[B, T]`, it
    returns float32 hidden states `[B, T, D]`:

    ```python
    backbone = GPT1Backbone.from_preset("presets/gpt1_mini_novels_en")
    ids = np.array([[5, 7]])
    backbone({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    ```
    """

    # Whether one row may hold a prefix with several continuations: attention
    # can be masked so that each sees only the prefix and itself.
    can_share_prefix = True

    def __init__(
        self,
        *,
        vocabulary_size,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        max_sequence_length,
        embedding_dropout,
        attention_dropout,
        residual_dropout,
        embedding_dropout_on,
        layer_norm_epsilon,
        initializer_range,
        num_special_tokens=0,
        residual_scale=1.0,
        position_initializer="normal",
        dtype=None,
        **kwargs,
    ):
        arguments = dict(locals())
        # === Layers ===
        self.token_and_position_embedding = self._embedding(arguments)
        self.decoder_blocks = [
            decoder_block.DecoderBlock(
                hidden_dim=hidden_dim,
                num_heads=num_heads,
                intermediate_dim=intermediate_dim,
                attention_dropout=attention_dropout,
                residual_dropout=residual_dropout,
                layer_norm_epsilon=layer_norm_epsilon,
                initializer_range=initializer_range,
                dtype=dtype,
                name=f"decoder_block_{i}",
            )
            for i in range(num_layers)
        ]
        self._connect(arguments)

        # === Initial weights that differ from the paper's ===
        if residual_scale != 1:
            for block in self.decoder_blocks:
                for part in (block.attention, block.feed_forward):
                    kernel = part.output_dense.kernel
                    if part.output_dense.quantization_mode is None:
                        kernel.assign(kernel * residual_scale)
        kinds = {"normal": False, "sinusoids": True}
        name = "position_initializer"
        if checks.find_name(position_initializer, kinds, name):
            table = self.token_and_position_embedding.position_embeddings
            rows = sinusoids(max_sequence_length, hidden_dim)
            table.assign(math.sqrt(2) * initializer_range * rows)

    def _embedding(self, arguments):
        """Return the embedding layer; `arguments` are those of `__init__`."""
        name = "embedding_dropout_on"
        build = checks.find_name(arguments[name], embedding.EMBEDDINGS, name)
        sizes = ("vocabulary_size", "num_special_tokens", "hidden_dim")
        sizes += ("max_sequence_length", "initializer_range", "dtype")
        return build(
            **{name: arguments[name] for name in sizes},
            dropout=arguments["embedding_dropout"],
            name="token_and_position_embedding",
        )

    def _connect(self, arguments):
        """Build the functional model; the arguments become attributes."""
        # === Functional Model ===
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("token_ids", "padding_mask")
        }
        hidden, table, _ = self.encode(inputs["token_ids"])
        dtype, kwargs = arguments["dtype"], arguments["kwargs"]
        super().__init__(inputs, hidden, dtype=dtype, **kwargs)
        # The table of this forward pass, for heads on the same graph.
        self.table_output = table

        # === Config ===
        self.keep(arguments)

    def encode(self, token_ids, position_ids=None, allowed=None):
        """Return hidden states and tables of a forward pass, symbolic or not.

        These are the states `[B, T, D]`, token and special rows `[V + S, D]`
        and position rows `[P, D]`. Heads that need a table use this one, so
        that its dropout is drawn only once. For `position_ids`, see
        `TokenAndPositionEmbedding`; for `allowed`, `CausalSelfAttention`.
        """
        hidden, table, positions = self.token_and_position_embedding(
            token_ids, position_ids=position_ids
        )
        for block in self.decoder_blocks:
            hidden = block(hidden, allowed=allowed)
        return hidden, table, positions

    def cache_shape(self, batch_size, length):
        """Return the shape of a key-value cache, `[B, L, 2, H, length, K]`."""
        head_dim = self.hidden_dim // self.num_heads
        per_layer = (2, self.num_heads, length, head_dim)
        return (batch_size, self.num_layers, *per_layer)

    def flops_per_token(self, length, *, with_softmax=True):
        """Return the floating-point operations of a training step per token.

        `6 (N + V D + L T D)` for a sequence of `T = length`: two operations
        forward and four backward for each weight of the blocks (`N`) and of the
        softmax over the vocabulary (`V D`), and for each entry of the keys and
        values that a token sees, on average those of `T / 2` tokens (Kaplan et
        al. 2020, section 2.1 and table 1, with the softmax).
        """
        entries = sum(
            math.prod(weight.shape)
            for block in self.decoder_blocks
            for weight in block.weights
            if len(weight.shape) > 1
        )
        rows = self.num_layers * length + self.vocabulary_size * with_softmax
        return 6 * (entries + rows * self.hidden_dim)

    def default_lora_layer_names(self):
        """Return the names of the layers to which LoRA adds adapters."""
        return ["query_key_value"]

    def enable_lora(self, rank, target_layer_names=None):
        """Freeze all but low-rank adapters and the special tokens' rows.

        KerasHub's method freezes these rows too, although fine-tuning draws
        them anew. The layers with an adapter keep a trainable bias. Saved
        weights have the adapters merged in.
        """
        super().enable_lora(rank, target_layer_names)
        if self.num_special_tokens:
            layer = self.token_and_position_embedding
            layer.trainable = True
            layer.token_embeddings.trainable = False
            layer.position_embeddings.trainable = False


def sinusoids(num_positions, width):
    """Return sines and cosines of the positions, float32 `[P, D]`.

    Columns 2i and 2i + 1 are the sine and the cosine of p / 10,000^(2i / D),
    as in Vaswani et al. 2017, section 3.5.
    """
    rates = 10_000.0 ** (-np.arange(0, width, 2) / width)
    # [P, 1] x [D / 2] -> [P, D / 2] -> [P, D / 2, 2] -> [P, D]
    angles = np.arange(num_positions)[:, None] * rates
    both = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return both.reshape(num_positions, -1)[:, :width].astype("float32")
