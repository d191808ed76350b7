"""Transfer of pretrained layers to a new backbone (figure 2, left)."""

import keras
from keras import ops

from gpt1_keras import errors


def transferred_backbone(source, *, num_transferred_layers, **changes):
    """Return a new backbone that starts from the weights of `source`.

    Everything else is drawn anew, such as the special-token rows that
    pretraining does not have. The released code calls the number `n_transfer`
    (finetune-transformer-lm train.py, lines 352 and 413-417).

    Args:
        source: `GPT1Backbone`.
        num_transferred_layers: int or None. `k` for the embeddings and the
            first `k` blocks, 0 for the embeddings alone, -1 for nothing,
            None for all.
        **changes: arguments of the backbone that differ from the source, such
            as `num_special_tokens` and dropout rates.

    Raises:
        InputError: the source has fewer layers.
    """
    num_layers = source.num_layers
    if num_transferred_layers is None:
        num_transferred_layers = num_layers
    is_whole = isinstance(num_transferred_layers, int)
    if not is_whole or not -1 <= num_transferred_layers <= num_layers:
        raise errors.InputError(
            f"`num_transferred_layers` is {num_transferred_layers!r}: the "
            f"preset has {num_layers} layers; give -1 (nothing), 0 "
            f"(embeddings) to {num_layers}, or None for all"
        )
    config = source.get_config() | changes
    config["dtype"] = keras.config.dtype_policy()
    target = type(source).from_config(config)
    if num_transferred_layers >= 0:
        old = source.token_and_position_embedding
        new = target.token_and_position_embedding
        names = ["token_embeddings", "position_embeddings"]
        if old.special_embeddings is not None:
            names.append("special_embeddings")
        for name in names:
            # Through numpy: on JAX both would share one array otherwise.
            value = ops.convert_to_numpy(getattr(old, name))
            getattr(new, name).assign(value)
    for i in range(num_transferred_layers):
        target.decoder_blocks[i].set_weights(
            source.decoder_blocks[i].get_weights()
        )
    return target
