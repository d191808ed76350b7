"""What a network makes of one text, for people to look at.

Letters: `T` tokens, `L` layers, `H` heads.
"""

import numpy as np
from keras import ops
from scipy import special

_LEAST = 2  # positions: Keras warns of a softmax over one


def log_probabilities(causal_lm, ids, *, before):
    """Return the log-probability of each token, float64 `[T]`.

    Args:
        causal_lm: `GPT1CausalLM`.
        ids: list of `T` ids, at least one, at most as many as positions.
        before: id that stands before the first.
    """
    inputs = _batch([before, *ids[:-1]])
    (logits,) = ops.convert_to_numpy(
        causal_lm({"token_ids": inputs, "padding_mask": np.ones_like(inputs)})
    )
    rows = special.log_softmax(logits[: len(ids)].astype("float64"), axis=-1)
    return rows[np.arange(len(ids)), ids]


def has_attention(backbone):
    """Return whether every layer of the backbone is a decoder block."""
    return all(hasattr(b, "attention") for b in backbone.decoder_blocks)


def attention(backbone, ids):
    """Return how much each token attends to each, float32 `[L, H, T, T]`.

    Args:
        backbone: `GPT1Backbone` for which `has_attention`.
        ids: list of `T` ids, at least one, at most as many as positions.

    Returns:
        rows (queries) add up to one.
    """
    hidden, _, _ = backbone.token_and_position_embedding(_batch(ids))
    layers = []
    for block in backbone.decoder_blocks:
        (found,) = ops.convert_to_numpy(block.attention.probabilities(hidden))
        layers.append(found[:, : len(ids), : len(ids)])
        hidden = block(hidden)
    return np.stack(layers)


def _batch(ids):
    """Return ids as a batch of one; padding on the right changes nothing."""
    ids = [*ids, *[0] * (_LEAST - len(ids))]
    return np.array([ids], "int32")
