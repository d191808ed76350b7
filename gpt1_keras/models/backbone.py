"""GPT-1 network from token ids to hidden states, and how presets load it."""

import math
import threading

import keras
import keras_hub
import numpy as np
from keras_hub.src.utils import preset_utils

from gpt1_keras import checks
from gpt1_keras.layers import configured
from gpt1_keras.layers import decoder_block
from gpt1_keras.layers import embedding


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1Backbone(configured.Configured, keras_hub.models.Backbone):
    """The decoder of Radford et al. 2018 as a KerasHub backbone.

    It has post-norm blocks, learned positions, no norm after the embedding and
    no further one at the end. Attention is causal and padding is on the right,
    so no padding mask is needed: `padding_mask`, which KerasHub's preprocessors
    pass, has no effect.

    Letters: `B` batch, `T` positions, `D` hidden_dim, `V` vocabulary_size,
    `S` num_special_tokens, `P` max_sequence_length, `L` num_layers.

    Args:
        vocabulary_size: int. Tokens `V` without special tokens.
        num_layers: int. Decoder blocks `L`.
        num_heads: int. Attention heads.
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

    Call arguments:
        dict of `token_ids` int `[B, T]` and `padding_mask` int `[B, T]`.

    Returns:
        float32 hidden states `[B, T, D]`.

    Example:

    ```python
    backbone = GPT1Backbone.from_preset("presets/gpt1_mini_novels_en")
    ids = np.array([[5, 7]])
    backbone({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    ```

    Reference: Radford et al. 2018, sections 3.1 and 4.1;
    openai/finetune-transformer-lm.
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
        # === Layers ===
        arguments = dict(locals())
        blocks = (
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
        )
        self._assemble(blocks, arguments)

        # === Initial weights that differ from the paper's ===
        if residual_scale != 1:
            for block in self.decoder_blocks:
                for part in (block.attention, block.feed_forward):
                    kernel = part.output_dense.kernel
                    if part.output_dense.quantization_mode is None:
                        kernel.assign(kernel * residual_scale)
        kinds = {"normal": False, "sinusoids": True}
        if checks.find_name(
            position_initializer, kinds, "position_initializer"
        ):
            table = self.token_and_position_embedding.position_embeddings
            table.assign(
                math.sqrt(2)
                * initializer_range
                * sinusoids(max_sequence_length, hidden_dim)
            )

    def _assemble(self, blocks, arguments):
        """Build the functional model of an embedding layer and blocks.

        Args:
            blocks: iterable of layers, made after the embedding, so that the
                layers draw their seeds in this order.
            arguments: dict of the arguments of `__init__`, which become
                attributes.
        """
        config = {name: arguments[name] for name in self.config_names()}
        dtype, kwargs = arguments["dtype"], arguments["kwargs"]
        sizes = ("vocabulary_size", "num_special_tokens", "hidden_dim")
        sizes += ("max_sequence_length", "initializer_range")
        build = checks.find_name(
            *(config["embedding_dropout_on"], embedding.EMBEDDINGS),
            kind="embedding_dropout_on",
        )
        self.token_and_position_embedding = build(
            **{name: config[name] for name in sizes},
            dropout=config["embedding_dropout"],
            dtype=dtype,
            name="token_and_position_embedding",
        )
        self.decoder_blocks = list(blocks)

        # === Functional Model ===
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("token_ids", "padding_mask")
        }
        hidden, table, _ = self.encode(inputs["token_ids"])
        keras_hub.models.Backbone.__init__(
            self, inputs=inputs, outputs=hidden, dtype=dtype, **kwargs
        )
        # The table of this forward pass, for heads on the same graph.
        self.table_output = table

        # === Config ===
        for name, value in config.items():
            setattr(self, name, value)

    def encode(self, token_ids, position_ids=None, allowed=None):
        """Run one forward pass, symbolic or eager.

        Args:
            token_ids: int tensor `[B, T]`.
            position_ids: int tensor `[B, T]`, or None to count from 0.
            allowed: bool tensor `[B, T, T]`, the tokens that each one may
                see, or None for the causal mask.

        Returns:
            hidden states `[B, T, D]`, token and special rows `[V + S, D]` and
            position rows `[P, D]`, all from one forward pass: heads that need
            the table use this one, so that its dropout is drawn only once.
        """
        hidden, table, positions = self.token_and_position_embedding(
            token_ids, position_ids=position_ids
        )
        for block in self.decoder_blocks:
            hidden = block(hidden, allowed=allowed)
        return hidden, table, positions

    def cache_shape(self, batch_size, length):
        """Return the shape of the cache, `[B, L, 2, H, S, K]`.

        It holds keys and values of `S = length` positions.
        """
        return (
            batch_size,
            self.num_layers,
            2,
            self.num_heads,
            length,
            self.hidden_dim // self.num_heads,
        )

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

    @property
    def token_embedding(self):
        """The embedding layer under the name that KerasHub expects."""
        return self.token_and_position_embedding

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


class FromAnyBackbonePreset:
    """Mixin whose `from_preset` also loads subclasses of `backbone_cls`.

    KerasHub looks for a class whose `backbone_cls` is exactly the preset's
    backbone, so an LSTM would need its own tokenizer, preprocessors and tasks,
    although nothing in them would differ. The mixin must precede the KerasHub
    class in the list of bases.
    """

    _lock = threading.RLock()

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """Load from a preset folder; see KerasHub's method of this name."""
        found = preset_utils.get_preset_loader(preset).check_backbone_class()
        with cls._lock:
            usual = cls.backbone_cls
            if found is usual or not issubclass(found, usual):
                return super().from_preset(preset, **kwargs)
            cls.backbone_cls = found
            try:
                return super().from_preset(preset, **kwargs)
            finally:
                cls.backbone_cls = usual
