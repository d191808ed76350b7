"""The network on rows that branch (`data.packed_items`)."""

import keras
from keras import ops


def branching_network(backbone):
    """Return a model that reads a prefix once and each branch behind it.

    Letters: `B` rows, `T` tokens, `D` hidden_dim, `V` vocabulary_size.

    Args:
        backbone: `GPT1Backbone`, whose layers it shares. One that cannot
            branch is given rows of one continuation each.

    Returns:
        functional `keras.Model` from a dict of int `token_ids`,
        `position_ids`, `branch` and `predictor` `[B, T]` to a dict of
        `hidden` `[B, T, D]`, the states from which the tokens are predicted,
        and `table` `[V, D]`, of words only: special tokens follow no text.
    """
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "position_ids", "branch", "predictor")
    }
    allowed = None
    if backbone.can_branch:
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
    words = table[: backbone.vocabulary_size, :]
    outputs = {"hidden": hidden, "table": words}
    return keras.Model(inputs, outputs, name="branching_network")


@keras.saving.register_keras_serializable(package="gpt1_keras")
class SeesPrefixAndBranch(keras.layers.Layer):
    """Which tokens of a row each token sees: `[B, T] -> [B, T, T]`.

    A token of branch `k` sees the tokens before it that are of the prefix,
    branch 0, or of branch `k`.

    | branch | 0 | 0 | 1 | 2 | 2 |
    |--------|---|---|---|---|---|
    | 0      | x |   |   |   |   |
    | 0      | x | x |   |   |   |
    | 1      | x | x | x |   |   |
    | 2      | x | x |   | x |   |
    | 2      | x | x |   | x | x |
    """

    def call(self, branch):
        # [B, T] -> [B, T, T]: query's branch, key's branch
        query, key = ops.expand_dims(branch, 2), ops.expand_dims(branch, 1)
        positions = ops.arange(ops.shape(branch)[1], dtype="int32")
        is_before = ops.expand_dims(positions, 0) <= ops.expand_dims(
            positions, 1
        )
        return ops.logical_and(
            is_before, ops.logical_or(key == 0, key == query)
        )

    def compute_output_spec(self, branch):
        size = branch.shape[1]
        return keras.KerasTensor((branch.shape[0], size, size), dtype="bool")
