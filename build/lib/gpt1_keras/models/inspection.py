"""Per-token log-probabilities and attention of one text.

Letters: `T` tokens, `L` layers, `H` heads.
"""

import numpy as np
from keras import ops
from scipy import special


def log_probabilities(causal_lm, ids, *, before):
    """Return the log-probability of each token, float64 `[T]`.

    Args:
        causal_lm: `GPT1CausalLM`.
        ids: list of `T` ids, at least one and at most max_sequence_length.
        before: int. The id that precedes the first.
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
    """Return the attention weights, float32 `[L, H, T, T]`.

    Args:
        backbone: `GPT1Backbone` for which `has_attention` is true.
        ids: list of `T` ids, at least one and at most max_sequence_length.

    Returns:
        numpy array; each row (query) sums to one.
    """
    hidden, _, _ = backbone.token_and_position_embedding(_batch(ids))
    layers = []
    for block in backbone.decoder_blocks:
        (found,) = ops.convert_to_numpy(block.attention.probabilities(hidden))
        layers.append(found[:, : len(ids), : len(ids)])
        hidden = block(hidden)
    return np.stack(layers)


def _batch(ids):
    """Return the ids as a batch of one row.

    A single id is padded to two, because Keras warns about a softmax over one
    position; padding on the right changes nothing.
    """
    return np.array([ids if len(ids) > 1 else [*ids, 0]], "int32")
