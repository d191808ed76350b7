"""Functions that build networks; runs call them in a strategy's scope.

Gin binds the two that take sizes. Networks get the global dtype policy.
"""

import os
import typing

import keras
from keras import ops

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.models import backbone
from gpt1_keras.models import causal_lm
from gpt1_keras.models import lstm_backbone as lstm_backbone_lib
from gpt1_keras.models import preprocessors


def gpt1_backbone(
    *,
    vocabulary_size,
    num_layers: checks.Count,
    num_heads: checks.Count,
    hidden_dim: checks.Count,
    intermediate_dim: checks.Count,
    max_sequence_length: checks.Length,
    embedding_dropout: checks.Rate,
    attention_dropout: checks.Rate,
    residual_dropout: checks.Rate,
    embedding_dropout_on: typing.Literal["tables", "activations"],
    layer_norm_epsilon: checks.UpToOne,
    initializer_range: checks.UpToOne,
    residual_scale: checks.UpToOne = 1.0,
    position_initializer: typing.Literal["normal", "sinusoids"] = "normal",
):
    """Return a `GPT1Backbone`; the arguments are described there."""
    sizes = dict(locals())
    _check_memory(
        (vocabulary_size + max_sequence_length) * hidden_dim
        + num_layers * (4 * hidden_dim + 2 * intermediate_dim) * hidden_dim
    )
    return backbone.GPT1Backbone(**sizes)


def lstm_backbone(
    *,
    vocabulary_size,
    num_units: checks.Count,
    hidden_dim: checks.Count,
    max_sequence_length: checks.Length,
    embedding_dropout: checks.Rate,
    residual_dropout: checks.Rate,
    embedding_dropout_on: typing.Literal["tables", "activations"],
    initializer_range: checks.UpToOne,
):
    """Return an `LSTMBackbone`; the arguments are described there."""
    sizes = dict(locals())
    _check_memory(
        (vocabulary_size + max_sequence_length + 4 * num_units) * hidden_dim
        + 4 * num_units**2
    )
    return lstm_backbone_lib.LSTMBackbone(**sizes)


def _check_memory(num_weights):
    """Refuse a network whose float32 weights alone exceed the memory.

    Building it would swap for hours before it failed.
    """
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 4 * num_weights > there:
        raise errors.InputError(
            f"the network's {num_weights:.1e} weights need"
            f" {4 * num_weights / 2**30:,.0f} GiB, this machine has"
            f" {there / 2**30:,.0f}: lower `num_layers` or `hidden_dim`"
        )


def gpt1_causal_lm(network, tokenizer):
    """Return an uncompiled `GPT1CausalLM` that shares the network's weights."""
    preprocessor = preprocessors.GPT1CausalLMPreprocessor(
        preprocessors.GPT1Tokenizer.from_pipeline(tokenizer),
        sequence_length=network.max_sequence_length,
    )
    return causal_lm.GPT1CausalLM(network, preprocessor, compile=False)


def transferred_backbone(source, *, num_transferred_layers, **changes):
    """Return a new backbone that starts from weights of `source`.

    All other weights are random, such as the special-token rows, which a
    pretrained network does not have.

    Args:
        source: `GPT1Backbone`.
        num_transferred_layers: int or None. `k` for the embeddings and the
            first `k` blocks (`n_transfer` in finetune-transformer-lm train.py,
            lines 352, 413-417), -1 for nothing, None for all.
        **changes: arguments of the backbone that differ from the source's.
    """
    num_layers = source.num_layers
    if num_transferred_layers is None:
        num_transferred_layers = num_layers
    if not -1 <= num_transferred_layers <= num_layers:
        raise errors.InputError(
            f"`num_transferred_layers` is {num_transferred_layers}: the "
            f"preset has {num_layers} layers; give -1 (nothing), 0 "
            f"(embeddings) to {num_layers}, or None for all"
        )
    config = source.get_config() | {"dtype": keras.config.dtype_policy()}
    target = type(source).from_config(config | changes)
    if num_transferred_layers >= 0:
        names = ["token_embeddings", "position_embeddings"]
        if source.num_special_tokens and target.num_special_tokens:
            names.append("special_embeddings")
        for name in names:
            table = getattr(source.token_and_position_embedding, name)
            # As numpy: on JAX, both would share one array otherwise.
            value = ops.convert_to_numpy(table)
            getattr(target.token_and_position_embedding, name).assign(value)
    for i in range(num_transferred_layers):
        weights = source.decoder_blocks[i].get_weights()
        target.decoder_blocks[i].set_weights(weights)
    return target
