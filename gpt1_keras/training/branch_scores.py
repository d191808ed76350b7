"""Log-probabilities of continuations, summed branch by branch."""

from keras import ops

from gpt1_keras.training import chunked_softmax


class BranchScores:
    """The scorer of a `Learner` over rows that branch.

    Letters: `B` rows, `T` tokens, `K` branches.

    Args:
        num_branches: int, `K`.
        chunk_size: int. Tokens whose logits exist at one time.
    """

    def __init__(self, *, num_branches, chunk_size):
        self.num_branches = num_branches
        self.chunk_size = chunk_size

    def score(self, outputs, batch):
        """Return sums over the weighted tokens of each branch.

        Args:
            outputs: dict of `hidden` `[B, T, D]` and `table` `[V, D]`
                (`models.branches`).
            batch: dict of arrays `[B, T]` (`data.packed_items`).

        Returns:
            dict of float32 `log_probability`, `num_tokens` and
            `num_likeliest`, each `[B, K]`.
        """
        hidden = outputs["hidden"]
        # Keras casts what it calls a model with to its compute dtype.
        weights = ops.cast(batch["token_weights"], "float32")
        log_p, likeliest = chunked_softmax.log_probabilities(
            ops.reshape(hidden, (-1, hidden.shape[-1])),
            outputs["table"],
            ops.reshape(batch["token_ids"], (-1,)),
            ops.reshape(weights, (-1,)),
            chunk_size=self.chunk_size,
        )
        shape = ops.shape(weights)
        # [B, T] of 1 .. K -> [B, T, K]; prefix and padding belong to none
        member = ops.one_hot(batch["branch"] - 1, self.num_branches)
        member = ops.cast(member, "float32") * ops.expand_dims(weights, 2)

        def per_branch(values):
            # [B, 1, T] x [B, T, K] -> [B, K]
            values = ops.expand_dims(ops.reshape(values, shape), 1)
            return ops.squeeze(ops.matmul(values, member), 1)

        return {
            "log_probability": per_branch(log_p),
            "num_tokens": per_branch(ops.ones_like(log_p)),
            "num_likeliest": per_branch(likeliest),
        }
