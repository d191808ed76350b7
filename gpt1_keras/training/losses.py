"""Losses and scores of the paper, from a forward pass and its batch.

A loss is a function `(outputs, batch) -> dict of float32 scalars`. The dict has
the keys `names`, of which `loss` is minimised. `outputs` and `batch` are the
dicts of `GPT1TaskModel`.

Letters: `B` batch, `C` candidates, `T` positions, `D` hidden_dim, `R` rows
of the softmax, `K` branches of a row.
"""

import collections.abc
import dataclasses
import typing

from keras import ops

from gpt1_keras import checks
from gpt1_keras.training import chunked_softmax


@checks.value_object
class LanguageModelLoss:
    """L1: negative log-likelihood of each weighted token given those before.

    It is averaged over the tokens of each sequence, then over sequences
    (finetune-transformer-lm train.py, lines 174-178 and 205).
    """

    chunk_size: checks.Count  # tokens whose logits exist at the same time
    # "tokens" for vocabulary and special tokens, or "released" for position
    # rows as well, as in the released code.
    softmax_over: typing.Literal["tokens", "released"] = "tokens"
    names = ("loss",)

    def __call__(self, outputs, batch):
        targets, weights = self.targets(batch)
        share = self.share(weights)
        loss = chunked_softmax.cross_entropy(
            outputs["hidden"],
            self.table(outputs),
            targets,
            share / ops.cast(ops.shape(share)[0], "float32"),
            chunk_size=self.chunk_size,
        )
        return {"loss": loss}

    def targets(self, batch):
        """Return the token that each state predicts and its weight.

        Both are `[B * C, T]`. The last state predicts nothing: its weight is 0.
        """

        def shifted(values):
            # [B, C, T] -> [B * C, T]
            values = ops.reshape(values, (-1, ops.shape(values)[-1]))
            return ops.pad(values[:, 1:], ((0, 0), (0, 1)))

        weights = ops.cast(shifted(batch["token_weights"]), "float32")
        return shifted(batch["token_ids"]), weights

    def share(self, weights):
        """Return weights `[B * C, T]` as shares of their sequence's loss."""
        # [B * C, T] -> [B * C, 1]
        total = ops.sum(weights, axis=1, keepdims=True)
        return weights / ops.maximum(total, 1e-9)

    def table(self, outputs):
        """Return the rows `[R, D]` that the softmax covers."""
        if self.softmax_over == "tokens":
            return outputs["table"]
        return ops.concatenate([outputs["table"], outputs["positions"]], axis=0)

    def score(self, outputs, batch):
        """Return sums over the weighted tokens of each candidate, `[B * C]`.

        They are float32 `log_probability`, `weight` and `num_likeliest`, the
        number of tokens that the model ranks first.
        """
        targets, weights = self.targets(batch)
        log_p, likeliest = chunked_softmax.log_probabilities(
            outputs["hidden"],
            self.table(outputs),
            targets,
            weights,
            chunk_size=self.chunk_size,
        )
        return {
            "log_probability": self.add(log_p * weights, batch),
            "weight": self.add(weights, batch),
            "num_likeliest": self.add(likeliest * weights, batch),
        }

    def add(self, values, batch):
        """Add up the values of each candidate: `[B * C, T] -> [B * C]`."""
        return ops.sum(values, axis=1)


class PackedLanguageModelLoss(LanguageModelLoss):
    """L1 of candidates that are packed into one row by `data.packing`.

    The weights of such a batch already include the means over tokens and
    candidates. `outputs` come from `models.shared_prefix`.
    """

    def targets(self, batch):
        # Keras casts the inputs of a model to its compute dtype.
        weights = ops.cast(batch["token_weights"], "float32")
        return batch["token_ids"], weights

    def share(self, weights):
        return weights


@checks.value_object
class BranchScores(PackedLanguageModelLoss):
    """Scorer of a `Learner` over `data.packing.PackedCandidates`."""

    num_branches: checks.Count

    def add(self, values, batch):
        """Add up the values of each branch: `[B, T] -> [B, K]`."""
        # [B, T] of 1 .. K -> [B, T, K]; prefix and padding are in no branch
        member = ops.one_hot(batch["branch"] - 1, self.num_branches)
        # Not a matrix product, whose factors some devices round.
        values = ops.expand_dims(values, 2) * ops.cast(member, "float32")
        return ops.sum(values, axis=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskLoss:
    """L3 = L2 + lambda L1: the task plus weighted language modelling."""

    # `(labels, logits) -> [B]`, such as `cross_entropy`.
    task_loss: collections.abc.Callable
    language_model_loss: LanguageModelLoss
    # Lambda; with 0 the softmax over the vocabulary is not computed.
    lm_weight: float

    @property
    def names(self):
        """The keys of the dict that a call returns."""
        names = ("loss", "task_loss")
        return (*names, "lm_loss") if self.lm_weight else names

    def __call__(self, outputs, batch):
        task = ops.mean(self.task_loss(batch["labels"], outputs["logits"]))
        losses = {"loss": task, "task_loss": task}
        if self.lm_weight:
            lm = self.language_model_loss(outputs, batch)["loss"]
            losses |= {"loss": task + self.lm_weight * lm, "lm_loss": lm}
        return losses


def cross_entropy(labels, logits, class_weights=None):
    """Return `-log softmax(logits)[labels]` `[B]`, times the class's weight.

    `labels` are int `[B]`, `logits` are `[B, Y]`, and `class_weights` are `Y`
    floats above 0, or None if all are 1. As with Keras's `class_weight`, the
    mean over a batch divides by `B`, not by the sum of the weights: so a class
    weighs the same in every micro-batch.

    Examples:
        >>> logits = np.array([[0.0, 0.0], [9.0, -9.0]], "float32")
        >>> np.round(cross_entropy(np.array([0, 0]), logits), 3)
        array([0.693, 0.   ], dtype=float32)
        >>> np.round(cross_entropy(np.array([0, 1]), logits), 3)
        array([ 0.693, 18.   ], dtype=float32)
    """
    loss = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    if class_weights is None:
        return loss
    weights = ops.convert_to_tensor(class_weights, "float32")
    return ops.take(weights, labels) * loss


def soft_cross_entropy(labels, logits):
    """Return the cross-entropy for labels that are distributions `[B, Y]`."""
    return ops.categorical_crossentropy(labels, logits, from_logits=True)


def squared_error(labels, logits):
    """Return the squared difference of labels `[B]` and logits `[B, 1]`."""
    return ops.square(ops.squeeze(logits, axis=-1) - labels)
