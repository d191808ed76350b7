"""GPT-1 networks for weights that come from elsewhere, and their names."""

import operator

import numpy as np

from gpt1_keras import errors
from gpt1_keras.models import backbone

# The released names of the twelve arrays of a block, in the order in which
# they are stored -> where `DecoderBlock` has them.
BLOCK_WEIGHTS = {
    "attn/c_attn/w": "attention.query_key_value.kernel",
    "attn/c_attn/b": "attention.query_key_value.bias",
    "attn/c_proj/w": "attention.output_dense.kernel",
    "attn/c_proj/b": "attention.output_dense.bias",
    "ln_1/g": "attention_norm.gamma",
    "ln_1/b": "attention_norm.beta",
    "mlp/c_fc/w": "feed_forward.intermediate_dense.kernel",
    "mlp/c_fc/b": "feed_forward.intermediate_dense.bias",
    "mlp/c_proj/w": "feed_forward.output_dense.kernel",
    "mlp/c_proj/b": "feed_forward.output_dense.bias",
    "ln_2/g": "feed_forward_norm.gamma",
    "ln_2/b": "feed_forward_norm.beta",
}


def build(
    *,
    vocabulary_size,
    num_layers,
    num_heads,
    hidden_dim,
    max_sequence_length,
    embedding_dropout=0.1,
    attention_dropout=0.1,
    residual_dropout=0.1,
    layer_norm_epsilon=1e-5,
    initializer_range=0.02,
):
    """Return a float32 `GPT1Backbone` without rows of special tokens.

    Args: those of `GPT1Backbone`; what is not given is as OpenAI released
        it, and the feed-forward networks are four times as wide.
    """
    return backbone.GPT1Backbone(
        vocabulary_size=vocabulary_size,
        num_layers=num_layers,
        num_heads=num_heads,
        hidden_dim=hidden_dim,
        intermediate_dim=4 * hidden_dim,
        max_sequence_length=max_sequence_length,
        embedding_dropout=embedding_dropout,
        attention_dropout=attention_dropout,
        residual_dropout=residual_dropout,
        embedding_dropout_on="tables",
        layer_norm_epsilon=layer_norm_epsilon,
        initializer_range=initializer_range,
        num_special_tokens=0,
        dtype="float32",
    )


def variables(network):
    """Return `{name: variable}` of a `GPT1Backbone` in the released order.

    The names are `positions` `[P, D]`, `tokens` `[V, D]`, `h0/attn/c_attn/w`
    `[D, 3D]` and so on; a table of special tokens is not among them.
    """
    embedding = network.token_and_position_embedding
    found = {
        "positions": embedding.position_embeddings,
        "tokens": embedding.token_embeddings,
    }
    for i, block in enumerate(network.decoder_blocks):
        for name, place in BLOCK_WEIGHTS.items():
            found[f"h{i}/{name}"] = operator.attrgetter(place)(block)
    return found


def assign(variable, value, where):
    """Set a variable to an array.

    Raises:
        InputError: the array has another shape, or NaN or infinity in it;
            `where` (str) names it in the message.
    """
    shape = tuple(variable.shape)
    if value.shape != shape:
        raise errors.InputError(
            f"{where} has shape {list(value.shape)}, expected {list(shape)}: "
            "weights and configuration are not of the same network"
        )
    if not np.isfinite(value).all():
        raise errors.InputError(
            f"{where} has NaN or infinite numbers in it: get the file again"
        )
    variable.assign(value)


def check_vocabulary(tokenizer, vocabulary_size, where):
    """Raise InputError unless there is a row for each piece and no other.

    Args:
        tokenizer: `text.tokenizer.Tokenizer`.
        vocabulary_size: int. Rows of the token table.
        where: path of the vocabulary's file.
    """
    if tokenizer.vocabulary_size != vocabulary_size:
        raise errors.InputError(
            f"{where} has {tokenizer.vocabulary_size} tokens, the token table "
            f"{vocabulary_size} rows: give files that belong together"
        )


def check_heads(num_heads, hidden_dim, remedy):
    """Raise InputError unless the heads divide the width evenly."""
    if num_heads < 1 or hidden_dim % num_heads:
        raise errors.InputError(
            f"width {hidden_dim} cannot be divided into {num_heads} attention "
            f"heads: {remedy}"
        )
