"""How a task is learnt: the settings, and what they make of a backbone."""

import collections.abc
import dataclasses

from gpt1_keras import dials
from gpt1_keras import errors
from gpt1_keras.models import task_model
from gpt1_keras.models import task_preprocessor
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.runs import labelled
from gpt1_keras.tasks import targets
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuning:
    """How a task is learnt.

    Attributes:
        batch_size: int. Examples per update.
        microbatch_size: int or None. Examples per forward pass on each
            replica; None: all.
        num_epochs: int. Passes over the training examples.
        num_train_examples: int or None. So many of them, drawn at random;
            None: all.
        sequence_length: int or None. Longest sequence in tokens; None: the
            positions of the preset.
        clip_norm: float. Largest norm of the gradient.
        lm_loss_weight: float. Lambda of equation 5.
        softmax_over: str, see `losses.LanguageModelLoss`.
        softmax_chunk: int. Tokens whose logits exist at one time.
        classifier_dropout: float. Rate before the head's linear layer.
        initializer_range: float. Standard deviation of the head's weights.
        bucket_lengths: ints. Lengths that batches are padded to.
        pool_batches: int. Batches among which examples are put in order of
            length; 1 is a plain random order.
        evaluation_batch_size: int. Development examples per forward pass.
        num_scored_train_examples: int. Training examples, drawn at random,
            that are scored with the development examples to compare.
        early_evaluation_steps: ints. Updates of the first epoch after which
            the development examples are scored too.
        dtype: str, Keras dtype policy.
        jit_compile: bool. Compile with XLA.
        batches: function of `training_batches`: how text becomes batches.
    """

    batch_size: int
    microbatch_size: int | None
    num_epochs: int
    num_train_examples: int | None
    sequence_length: int | None
    clip_norm: float
    lm_loss_weight: float
    softmax_over: str
    softmax_chunk: int
    classifier_dropout: float
    initializer_range: float
    bucket_lengths: tuple
    pool_batches: int
    evaluation_batch_size: int
    num_scored_train_examples: int
    early_evaluation_steps: tuple
    dtype: str
    jit_compile: bool
    batches: collections.abc.Callable

    def check(self, strategy):
        """Complain of what cannot work, before anything heavy starts.

        Args:
            strategy: `strategy.Strategy` that it is learnt on.
        """
        self._check_kinds()
        strategy.check_batch(self.batch_size, self.microbatch_size)
        strategy.check_share(
            "EVALUATION_BATCH_SIZE", self.evaluation_batch_size
        )
        if self.softmax_over not in ("tokens", "released"):
            raise errors.InputError(
                f"SOFTMAX_OVER is {self.softmax_over!r}: give 'tokens' or "
                "'released'"
            )

    def _check_kinds(self):
        for macro, value in (
            ("NUM_EPOCHS", self.num_epochs),
            ("EVALUATION_BATCH_SIZE", self.evaluation_batch_size),
            ("POOL_BATCHES", self.pool_batches),
        ):
            dials.check_count(macro, value)
        for macro, values in (
            ("EARLY_EVALUATION_STEPS", self.early_evaluation_steps),
            ("BUCKET_LENGTHS", self.bucket_lengths),
        ):
            dials.check_counts(macro, values)
        dials.check_count(
            "SEQUENCE_LENGTH",
            self.sequence_length,
            or_none="for the preset's positions",
        )
        dials.check_number("CLIP_NORM", self.clip_norm, low=0)
        dials.check_number("LM_LOSS_WEIGHT", self.lm_loss_weight, low=0)
        dials.check_number(
            "CLASSIFIER_DROPOUT", self.classifier_dropout, low=0, high=0.99
        )

    def evaluation_steps(self, steps_per_epoch):
        """Return the set of updates after which is evaluated."""
        ends = {n * steps_per_epoch for n in range(1, self.num_epochs + 1)}
        return ends | {
            step for step in self.early_evaluation_steps if step < min(ends)
        }

    def max_sequence_length(self, num_positions):
        """Return the longest sequence, given the positions of the preset."""
        length = self.sequence_length or num_positions
        if length > num_positions:
            raise errors.InputError(
                f"SEQUENCE_LENGTH {length} is more than the preset's "
                f"{num_positions} positions: lower it"
            )
        return length

    def labelled(self, task, examples, tokenizer, length, split):
        """Return `labelled.Labelled` examples of a split."""
        return labelled.Labelled(
            task,
            examples,
            tokenizer=tokenizer,
            max_sequence_length=length,
            batch_size=self.evaluation_batch_size,
            bucket_lengths=self.bucket_lengths,
            name=f"{task.name} {split}",
        )

    def training_batches(self, train, seed):
        """Return the batches of `train`, a `labelled.Labelled`."""
        return self.batches(
            train,
            batch_size=self.batch_size,
            seed=seed,
            bucket_lengths=self.bucket_lengths,
            pool_batches=self.pool_batches,
        )


def network(task, backbone, tokenizer, training):
    """Return the `GPT1TaskModel` of a task, its preprocessor inside."""
    target = task.target
    preprocessor = task_preprocessor.GPT1TaskPreprocessor(
        tokenizer_lib.GPT1Tokenizer.from_pipeline(tokenizer),
        transform=task.transform.__name__,
        sequence_length=training.max_sequence_length(
            backbone.max_sequence_length
        ),
        task=task.name,
        label_words=target.words,
        score_range=target.score_range,
        is_regression=isinstance(target, targets.Score),
    )
    head = task.build_head(
        num_outputs=target.num_outputs,
        dropout=training.classifier_dropout,
        initializer_range=training.initializer_range,
        dtype="float32",
        name="head",
    )
    return task_model.GPT1TaskModel(backbone, head, preprocessor=preprocessor)


def learner(network, task, training):
    """Return the `Learner` of a task, not compiled yet."""
    loss = losses.TaskLoss(
        task_loss=task.target.loss,
        language_model_loss=losses.LanguageModelLoss(
            chunk_size=training.softmax_chunk,
            softmax_over=training.softmax_over,
        ),
        lm_weight=training.lm_loss_weight,
    )
    return learner_lib.Learner(
        network,
        loss=loss,
        loss_names=loss.names,
        clip_norm=training.clip_norm,
        micro_batch_size=training.microbatch_size,
    )
