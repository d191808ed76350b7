"""Network over rows of a shared prefix and its continuations, the branches.

The rows are those of `data.packing`; the prefix is computed once.
"""

import keras
from keras import ops

from gpt1_keras.layers import attention
from gpt1_keras.layers import heads


def shared_prefix_network(backbone, head=None):
    """Return a model of rows with a prefix and several branches after it.

    Letters: `B` rows, `T` tokens, `C` candidates, `Y` logits, and those of
    `GPT1Backbone`.

    Args:
        backbone: `GPT1Backbone`, whose layers are shared. If it cannot share
            prefixes (LSTM), each row must hold one continuation.
        head: layer from features `[B, C, D]` to logits `[B, Y]`, that of a
            `GPT1TaskModel` with this backbone, or None.

    Returns:
        functional `keras.Model`. Inputs: dict of int `token_ids`,
        `position_ids`, `branch` and `predictor` `[B, T]`, with a head also
        `extract_position` `[B, C]`. Outputs: dict of `hidden` `[B, T, D]`, the
        states that predict the tokens, and `table` `[V, D]`; with a head,
        `table` `[V + S, D]`, `positions` `[P, D]` and `logits` `[B, Y]`.
    """
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "position_ids", "branch", "predictor")
    }
    allowed = None
    if backbone.can_share_prefix:
        mask = SeesPrefixAndBranch(name="sees_prefix_and_branch")
        allowed = mask(inputs["branch"])
    states, table, positions = backbone.encode(
        inputs["token_ids"], inputs["position_ids"], allowed
    )
    # [B, T, D] at [B, T] -> [B, T, D]
    gather = heads.StatesAt(name="predictors", dtype="float32")
    outputs = {"hidden": gather(states, inputs["predictor"])}
    if head is None:  # Special tokens are never predicted.
        outputs["table"] = table[: backbone.vocabulary_size, :]
    else:
        outputs |= {"table": table, "positions": positions}
        places, outputs["logits"] = heads.read_extract(head, states)
        inputs["extract_position"] = places
    return keras.Model(inputs, outputs, name="shared_prefix_network")


@keras.saving.register_keras_serializable(package="gpt1_keras")
class SeesPrefixAndBranch(keras.layers.Layer):
    """Attention mask of rows with branches: `[B, T] -> [B, T, T]`.

    A token of branch `k` sees itself and the tokens before it that belong to
    the prefix, branch 0, or to branch `k`.

    | branch | 0 | 0 | 1 | 2 | 2 |
    |--------|---|---|---|---|---|
    | 0      | x |   |   |   |   |
    | 0      | x | x |   |   |   |
    | 1      | x | x | x |   |   |
    | 2      | x | x |   | x |   |
    | 2      | x | x |   | x | x |
    """

    def call(self, branch):
        # [B, T] -> [B, T, T]: the query's branch, the key's branch
        query, key = ops.expand_dims(branch, 2), ops.expand_dims(branch, 1)
        length = ops.shape(branch)[1]
        causal = attention.causal_mask(length)
        return ops.logical_and(causal, ops.logical_or(key == 0, key == query))
