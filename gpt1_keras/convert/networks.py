"""GPT-1 networks from converted weights, and the released weights' names."""

import operator

import numpy as np

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras.models import backbone
from gpt1_keras.models import builders

# Released names of the twelve arrays of a block, in the order of the released
# file -> the attribute of `DecoderBlock`.
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


def variables(network):
    """Return `{name: variable}` of a `GPT1Backbone` in the released order.

    Without the special-token rows: `positions` `[P, D]`, `tokens` `[V, D]`,
    `h0/attn/c_attn/w` `[D, 3D]` and so on.
    """
    embedding = network.token_and_position_embedding
    found = {
        "positions": embedding.position_embeddings,
        "tokens": embedding.token_embeddings,
    }
    for i, block in enumerate(network.decoder_blocks):
        for name, attribute in BLOCK_WEIGHTS.items():
            found[f"h{i}/{name}"] = operator.attrgetter(attribute)(block)
    return found


def causal_lm(tokenizer, values, directory, **sizes):
    """Return a float32 `GPT1CausalLM` without special-token rows.

    Args:
        tokenizer: `text.tokenizer.Tokenizer`.
        values: function `{name: variable}` -> iterable of (name, array), with
            the names of `variables`.
        directory: path of the weights, for messages.
        **sizes: arguments of `GPT1Backbone`; others are those of
            gin/model/gpt1.gin, and `intermediate_dim` is `4 hidden_dim`.
    """
    width, num_heads = sizes["hidden_dim"], sizes["num_heads"]
    if tokenizer.vocabulary_size != sizes["vocabulary_size"]:
        raise errors.InputError(
            f"{directory}: the vocabulary has {tokenizer.vocabulary_size} "
            f"tokens, the token table {sizes['vocabulary_size']} rows: give "
            "the files of one language model, not of a classifier"
        )
    if num_heads < 1 or width % num_heads:
        raise errors.InputError(
            f"{directory}: width {width} cannot be divided into "
            f"{num_heads} attention heads: correct n_head in config.json, or "
            "give --num_heads for released weights"
        )
    paper = bindings.read(["gin/model/gpt1.gin"], [])
    released = {
        name.rpartition(".")[2]: paper.value(value)
        for name, value in paper.parameters.items()
    }
    fixed = {"intermediate_dim": 4 * width, "dtype": "float32"}
    network = backbone.GPT1Backbone(**released | sizes | fixed)
    own = variables(network)
    for name, value in values(own):
        shape = tuple(own[name].shape)
        if value.shape != shape:
            raise errors.InputError(
                f"{directory}: {name} has shape {list(value.shape)}, expected "
                f"{list(shape)}: weights and configuration do not match"
            )
        if not np.isfinite(value).all():
            raise errors.InputError(
                f"{directory}: {name} contains NaN or infinity: download it"
                " again"
            )
        own[name].assign(value)
    return builders.gpt1_causal_lm(network, tokenizer)
