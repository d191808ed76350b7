"""GPT-1 as a language model: logits, scores, generation with a cache."""

import keras
import keras_hub
import numpy as np
from keras import ops

from gpt1_keras.layers import embedding
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import generation
from gpt1_keras.models import loading
from gpt1_keras.models import preprocessors


@keras.saving.register_keras_serializable(package="gpt1_keras")
class GPT1CausalLM(loading.Task, keras_hub.models.CausalLM):
    """KerasHub language model: a `GPT1Backbone` and the tied softmax.

    Letters: `B` batch, `T` positions, `S` columns of the cache, `L` layers,
    `H` heads, `K` head_dim, `D` hidden_dim, `V` vocabulary_size. `preprocessor`
    is a `GPT1CausalLMPreprocessor` or None.

    ```python
    model = GPT1CausalLM.from_preset("presets/gpt1_mini_novels_en")
    model.generate("It was a dark night", max_length=64)
    ```
    """

    backbone_cls = backbone_lib.GPT1Backbone
    preprocessor_cls = preprocessors.GPT1CausalLMPreprocessor
    _is_jit_chosen = False
    _generates = None  # identity of the variables behind `generate_function`

    def __init__(self, backbone, preprocessor=None, **kwargs):
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.tied_logits = embedding.TiedLogits(
            vocabulary_size=backbone.vocabulary_size,
            dtype=backbone.dtype_policy,
            name="tied_logits",
        )

        # === Functional Model ===
        # On the backbone's own graph: calling the backbone again would draw
        # a second dropout mask for the embedding.
        outputs = self.tied_logits(backbone.output, backbone.table_output)
        super().__init__(inputs=backbone.input, outputs=outputs, **kwargs)

    def call_with_cache(self, token_ids, cache, cache_update_index, read=None):
        """Run tokens `[B, T]`, the first at position `cache_update_index`.

        The cache `[B, L, 2, H, S, K]` has keys and values of earlier positions.
        Returns logits `[B, T, V]`, states `[B, T, D]` and the updated cache.
        `read` may be a faster function in place of `self.read`.
        """
        read = read or self.read
        logits, hidden, found = read(token_ids, cache, cache_update_index)
        # Written at once: on a CPU, copying the cache takes most of the time.
        start = (0, 0, 0, 0, cache_update_index, 0)
        return logits, hidden, ops.slice_update(cache, start, found)

    def read(self, token_ids, cache, index):
        """Return logits and states of `call_with_cache`, and the new columns.

        These are keys and values of the tokens, `[B, L, 2, H, T, K]`.
        """
        # [1, T]; a slice would make XLA compile again for every position.
        places = ops.arange(ops.shape(token_ids)[1], dtype="int32")
        position_ids = index + ops.expand_dims(places, 0)
        hidden, table, _ = self.backbone.token_and_position_embedding(
            token_ids, position_ids=position_ids
        )
        found = []
        for i, block in enumerate(self.backbone.decoder_blocks):
            hidden, of_block = block(
                hidden, cache=cache[:, i], cache_update_index=index
            )
            found.append(of_block)
        # L times [B, 2, H, T, K] -> [B, L, 2, H, T, K]
        found = ops.stack(found, axis=1)
        return self.tied_logits(hidden, table), hidden, found

    def _build_cache(self, token_ids):
        """Return hidden states `[B, T, D]` and the cache of a prompt."""
        shape = self.backbone.cache_shape(ops.shape(token_ids)[0], 0)
        empty = ops.zeros(shape, dtype=self.compute_dtype)
        _, hidden, cache = self.read(token_ids, empty, 0)
        return hidden, cache

    # Sampling is the same for every decoder with such a cache.
    generate_step = keras_hub.models.GPT2CausalLM.generate_step

    def compile(self, *args, jit_compile="auto", **kwargs):
        """See KerasHub; "auto" uses XLA for generation on a CPU, too."""
        super().compile(*args, jit_compile=jit_compile, **kwargs)
        self._is_jit_chosen = jit_compile != "auto"

    def generate(
        self, inputs, max_length=None, stop_token_ids="auto", **options
    ):
        """See KerasHub; stops at a line break if the vocabulary has one.

        `max_length` is None or an int, `stop_token_ids` "auto", None or ints.
        """
        if isinstance(inputs, list) and not inputs:
            return []
        if max_length is not None and not _are_ints(max_length, least=1):
            raise ValueError(
                f"max_length is {max_length!r}: give a whole number of at least"
                " 1, or None"
            )
        if isinstance(stop_token_ids, str) and stop_token_ids == "auto":
            ours = getattr(self.preprocessor, "tokenizer", None)
            if ours is not None and ours.end_token_id is None:
                stop_token_ids = None
        elif stop_token_ids is not None:
            if not _are_ints(stop_token_ids):
                raise ValueError(
                    f"stop_token_ids is {stop_token_ids!r}: give ids, 'auto' or"
                    " None"
                )
            stop_token_ids = tuple(np.ravel(stop_token_ids).tolist()) or None
        return super().generate(inputs, max_length, stop_token_ids, **options)

    def make_generate_function(self):
        """Return the function behind `generate`.

        It raises ValueError for out-of-range ids and for texts longer than the
        model's positions, which compiled look-ups would silently clip.
        """
        identity = generation.identity_of(self)
        if self.generate_function is None or identity != self._generates:
            self.generate_function, self._generates = None, identity
            write = super().make_generate_function()
            is_free = not (self._is_jit_chosen or self.run_eagerly)
            if is_free and generation.gains_by_xla(self):
                import tensorflow as tf

                write = tf.function(
                    self.generate_step, jit_compile=True, autograph=False
                )

            def checked(inputs, stop_token_ids=None):
                ids = inputs["token_ids"]
                self._check(ops.convert_to_numpy(ids))
                if stop_token_ids:
                    # KerasHub's loop takes padding for an id that was drawn.
                    others = set(range(len(stop_token_ids) + 1))
                    padding = min(others.difference(stop_token_ids))
                    is_token = ops.cast(inputs["padding_mask"], "bool")
                    ids = ops.where(is_token, ids, padding)
                return write(inputs | {"token_ids": ids}, stop_token_ids)

            self.generate_function = checked
        return self.generate_function

    def _check(self, token_ids, rows=None):
        """Raise ValueError if the backbone cannot read ids `[B, T]`.

        `rows` is the number of known ids, by default that of the embedding.
        """
        network = self.backbone
        if token_ids.ndim != 2 or not token_ids.size:
            raise ValueError(f"ids of shape {token_ids.shape}: give [B, T]")
        length = token_ids.shape[1]
        lowest, highest = token_ids.min(), token_ids.max()
        if length > network.max_sequence_length:
            raise ValueError(
                f"a text of {length} tokens, but the model has "
                f"{network.max_sequence_length} positions: shorten it, or "
                "give a lower max_length"
            )
        rows = rows or network.vocabulary_size + network.num_special_tokens
        if lowest < 0 or highest >= rows:
            wrong = lowest if lowest < 0 else highest
            raise ValueError(
                f"token id {wrong}, but the model has {rows} tokens: use "
                "the tokenizer of its preset"
            )

    def score(
        self,
        token_ids,
        padding_mask=None,
        scoring_mode="logits",
        layer_intercept_fn=None,
        target_ids=None,
    ):
        """Score tokens; the arguments are those of KerasHub's `GPT2CausalLM`.

        `padding_mask` has no effect. Returns float32 logits `[B, T, V]`, or in
        mode "loss" the negative log-likelihoods of `target_ids`, `[B, T]`.
        """
        is_loss = scoring_mode == "loss" and target_ids is not None
        if not is_loss and scoring_mode != "logits":
            raise ValueError(
                f"scoring_mode is {scoring_mode!r}: give 'logits', or 'loss'"
                " and target_ids"
            )
        # Not in a graph, where ids have no values yet.
        host = np.ndarray | list | tuple
        if isinstance(token_ids, host):
            self._check(np.asarray(token_ids))
        if isinstance(target_ids, host):
            self._check(np.asarray(target_ids), self.backbone.vocabulary_size)
        intercept = layer_intercept_fn or (lambda activations, _: activations)
        hidden, table, _ = self.backbone.token_and_position_embedding(
            ops.convert_to_tensor(token_ids, "int32")
        )
        hidden = intercept(hidden, -1)
        for i, block in enumerate(self.backbone.decoder_blocks):
            hidden = intercept(block(hidden), i)
        logits = self.tied_logits(hidden, table)
        if not is_loss:
            return logits
        return ops.sparse_categorical_crossentropy(
            ops.convert_to_tensor(target_ids, "int32"), logits, from_logits=True
        )


def _are_ints(values, least=0):
    """Return whether `values`, one or several, are ints of at least `least`."""
    values = np.asarray(values)
    is_whole = values.dtype.kind in "iu" or not values.size
    return is_whole and bool((values >= least).all())
