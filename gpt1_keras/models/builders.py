"""Builders of networks: gin binds them, runs call them in a strategy's scope.

They take the sizes of a network and use the global dtype policy.
"""

import os
import typing

import keras

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.models import backbone
from gpt1_keras.models import causal_lm
from gpt1_keras.models import lstm_backbone as lstm_backbone_lib
from gpt1_keras.models import preprocessors
from gpt1_keras.models import tokenizer as tokenizer_lib

_DropoutOn = typing.Annotated[
    str, checks.Dial(choices=("tables", "activations"))
]


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
    embedding_dropout_on: _DropoutOn,
    layer_norm_epsilon: checks.Positive,
    initializer_range: checks.Positive,
    num_special_tokens=0,
):
    """Return a `GPT1Backbone`; the arguments are described there."""
    sizes = dict(locals())
    if hidden_dim % num_heads:
        raise errors.InputError(
            f"`num_heads` {num_heads} does not divide `hidden_dim` "
            f"{hidden_dim}: change one of them"
        )
    _check_memory(
        (vocabulary_size + max_sequence_length) * hidden_dim
        + num_layers * (4 * hidden_dim + 2 * intermediate_dim) * hidden_dim
    )
    return backbone.GPT1Backbone(**sizes, dtype=keras.config.dtype_policy())


def lstm_backbone(
    *,
    vocabulary_size,
    num_units: checks.Count,
    hidden_dim: checks.Count,
    max_sequence_length: checks.Length,
    embedding_dropout: checks.Rate,
    residual_dropout: checks.Rate,
    embedding_dropout_on: _DropoutOn,
    initializer_range: checks.Positive,
    num_special_tokens=0,
):
    """Return an `LSTMBackbone`; the arguments are described there."""
    sizes = dict(locals())
    _check_memory(
        (vocabulary_size + max_sequence_length + 4 * num_units) * hidden_dim
        + 4 * num_units**2
    )
    return lstm_backbone_lib.LSTMBackbone(
        **sizes, dtype=keras.config.dtype_policy()
    )


def _check_memory(num_weights):
    """Refuse a network whose float32 weights alone exceed the memory.

    Building it would take hours until the memory is full.
    """
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 4 * num_weights > there:
        raise errors.InputError(
            f"the network's {num_weights:.1e} weights need"
            f" {4 * num_weights / 2**30:,.0f} GiB, this machine has"
            f" {there / 2**30:,.0f}: lower `num_layers` or `hidden_dim`"
        )


def gpt1_causal_lm(network, tokenizer):
    """Return an uncompiled `GPT1CausalLM` that shares the network's weights.

    Args:
        network: `GPT1Backbone`.
        tokenizer: `text.tokenizer.Tokenizer`.
    """
    preprocessor = preprocessors.GPT1CausalLMPreprocessor(
        tokenizer_lib.GPT1Tokenizer.from_pipeline(tokenizer),
        sequence_length=network.max_sequence_length,
    )
    return causal_lm.GPT1CausalLM(network, preprocessor, compile=False)
