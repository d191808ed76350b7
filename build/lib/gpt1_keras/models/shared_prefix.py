"""Network over rows that hold a shared prefix and several continuations.

The rows are those of `data.packing`: the prefix is read once, each
continuation is a branch that sees the prefix and itself.
"""

import keras
from keras import ops

from gpt1_keras.layers import attention


def shared_prefix_network(backbone):
    """Return a model that reads a prefix once and each branch behind it.

    Letters: `B` rows, `T` tokens, `D` hidden_dim, `V` vocabulary_size.

    Args:
        backbone: `GPT1Backbone`, whose layers are shared. One that cannot
            share prefixes gets rows of one continuation each.

    Returns:
        functional `keras.Model` from a dict of int `token_ids`,
        `position_ids`, `branch` and `predictor` `[B, T]` to a dict of
        `hidden` `[B, T, D]`, the states that predict the tokens, and `table`
        `[V, D]` without special tokens, which follow no text.
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
    hidden, table, _ = backbone.encode(
        inputs["token_ids"],
        position_ids=inputs["position_ids"],
        allowed=allowed,
    )
    # [B, T, D] at [B, T] -> [B, T, D]
    hidden = ops.take_along_axis(
        hidden, ops.expand_dims(inputs["predictor"], 2), axis=1
    )
    outputs = {"hidden": hidden, "table": table[: backbone.vocabulary_size, :]}
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
        causal = attention.causal_mask(length, length)
        return ops.logical_and(causal, ops.logical_or(key == 0, key == query))

    def compute_output_spec(self, branch):
        size = branch.shape[1]
        return keras.KerasTensor((branch.shape[0], size, size), dtype="bool")
