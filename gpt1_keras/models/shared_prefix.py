"""Network over rows that hold a shared prefix and several continuations.

The rows are those of `data.packing`: the prefix is computed once, and each
continuation is a branch that sees the prefix and itself.
"""

import keras
from keras import ops

from gpt1_keras.layers import attention
from gpt1_keras.layers import heads


def shared_prefix_network(backbone, head=None):
    """Return a model of rows with a prefix and several branches after it.

    Letters: `B` rows, `T` tokens, `C` candidates, `D` hidden_dim, `V`
    vocabulary_size, `S` special tokens, `P` positions, `Y` logits.

    Args:
        backbone: `GPT1Backbone`, whose layers are shared. If it cannot share
            prefixes (LSTM), each row must hold one continuation.
        head: layer from features `[B, C, D]` to logits `[B, Y]`, that of a
            `GPT1TaskModel` with this backbone, or None.

    Returns:
        functional `keras.Model`. Inputs: dict of int `token_ids`,
        `position_ids`, `branch` and `predictor` `[B, T]`, with a head also
        `extract_position` `[B, C]`. Outputs: dict of `hidden` `[B, T, D]`, the
        states that predict the tokens, and `table` `[V, D]`, without special
        tokens, which are never predicted; with a head, `table` `[V + S, D]`,
        and also `positions` `[P, D]` and `logits` `[B, Y]`.
    """
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "position_ids", "branch", "predictor")
    }
    allowed = None
    if backbone.can_share_prefix:
        allowed = SeesPrefixAndBranch(name="sees_prefix_and_branch")(
            inputs["branch"]
        )
    states, table, positions = backbone.encode(
        inputs["token_ids"],
        position_ids=inputs["position_ids"],
        allowed=allowed,
    )
    # [B, T, D] at [B, T] -> [B, T, D]
    hidden = heads.StatesAt(name="predictors", dtype="float32")(
        states, inputs["predictor"]
    )
    outputs = {"hidden": hidden}
    if head is None:
        outputs["table"] = table[: backbone.vocabulary_size, :]
    else:
        inputs["extract_position"] = keras.Input(
            (None,), dtype="int32", name="extract_position"
        )
        # [B, T, D] at [B, C] -> [B, C, D] -> [B, Y]
        features = heads.StatesAt(name="gather_extract", dtype="float32")(
            states, inputs["extract_position"]
        )
        outputs |= {"table": table, "positions": positions}
        outputs["logits"] = head(features)
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
