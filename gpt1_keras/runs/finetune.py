"""Fine-tuning on one labelled task (paper, sections 3.2 and 4.2)."""

import dataclasses

import keras
import numpy as np
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import example_batches
from gpt1_keras.models import task_model
from gpt1_keras.models import task_preprocessor
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.runs import fitting
from gpt1_keras.runs import labelled
from gpt1_keras.runs import presets
from gpt1_keras.runs import result
from gpt1_keras.runs import seeds as seeds_lib
from gpt1_keras.tasks import targets
from gpt1_keras.training import history as history_lib
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuning:
    """How a task is learnt.

    Attributes:
        batch_size: int. Examples per update.
        microbatch_size: int or None. Examples per forward pass; None: all.
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
        early_evaluation_steps: ints. Updates of the first epoch after which
            the development examples are scored too.
        dtype: str, Keras dtype policy.
        jit_compile: bool. Compile with XLA.
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
    early_evaluation_steps: tuple
    dtype: str
    jit_compile: bool

    def check(self):
        """Complain of what cannot work, before anything heavy starts."""
        fitting.check_batch(self.batch_size, self.microbatch_size)
        if self.num_epochs < 1:
            raise errors.InputError(
                f"NUM_EPOCHS is {self.num_epochs}: give 1 or more"
            )
        if self.softmax_over not in ("tokens", "released"):
            raise errors.InputError(
                f"SOFTMAX_OVER is {self.softmax_over!r}: give 'tokens' or "
                "'released'"
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


def finetune(
    *,
    workdir,
    config_sha256,
    task,
    data,
    pretrained,
    build_optimizer,
    training,
    intervals,
    seed,
    seeds,
    paper,
):
    """Fine-tune on `task`; keep the weights that are best on dev.

    Writes `preset/` (backbone, head, tokenizer, what the labels mean),
    `metrics.jsonl`, `checkpoints/` and `result.json`; of several seeds each
    into its own `seed_N/`, and the median and range above them.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        task: `tasks.task.Task`.
        data: `benchmark_files.BenchmarkFiles`.
        pretrained: `pretrained.Pretrained`: where fine-tuning begins.
        build_optimizer: function of `num_steps`.
        training: `FineTuning`.
        intervals: `fitting.Intervals`.
        seed: int. New weights, dropout and the order of the data.
        seeds: tuple of ints for several runs, or None for `seed` alone.
        paper: dict from the task's name to the paper's metrics.

    Returns:
        path of `result.json`.
    """
    if result.is_finished(workdir, config_sha256):
        return result.path(workdir)
    training.check()
    fitting.set_dtype(training.dtype)
    tokenizer = pretrained.tokenizer()
    length = training.max_sequence_length(pretrained.num_positions())
    train, dev = (
        training.labelled(
            task, data.read(task, split), tokenizer, length, split
        )
        for split in ("train", "dev")
    )

    def run(directory, seed):
        return _FineTuned(
            directory,
            seed,
            train=train,
            dev=dev,
            tokenizer=tokenizer,
            pretrained=pretrained,
            build_optimizer=build_optimizer,
            training=training,
        ).train(intervals, config_sha256, paper.get(task.name, {}))

    return seeds_lib.run_each(workdir, config_sha256, seed, seeds, run)


class _FineTuned:
    """One model: one task and one seed."""

    def __init__(
        self,
        workdir,
        seed,
        *,
        train,
        dev,
        tokenizer,
        pretrained,
        build_optimizer,
        training,
    ):
        self._workdir = workdir
        self._seed = seed
        self._dev = dev
        self._task = train.task
        keras.utils.clear_session()
        keras.utils.set_random_seed(seed)
        self._training = training
        self._batches = example_batches.TrainingExamples(
            train.encoded,
            train.labels(),
            rows=_sample(len(train), training.num_train_examples, seed),
            batch_size=training.batch_size,
            seed=seed,
            bucket_lengths=training.bucket_lengths,
            pool_batches=training.pool_batches,
        )
        self._num_steps = self._batches.steps_per_epoch * training.num_epochs
        self._network = _network(
            self._task, pretrained.backbone(), tokenizer, training
        )
        self._learner = _learner(self._network, self._task, training)
        self._learner.compile(
            build_optimizer(num_steps=self._num_steps),
            jit_compile=training.jit_compile,
        )

    def train(self, intervals, config_sha256, paper):
        """Train to the end and write the result; return its path."""
        due = self._training.evaluation_steps(self._batches.steps_per_epoch)
        _log_sizes(self._task, self._batches, self._dev, self._num_steps)
        history = fitting.fit(
            self._learner,
            self._batches,
            workdir=self._workdir,
            num_steps=self._num_steps,
            tokens_per_step=self._batches.tokens_per_step,
            intervals=intervals,
            periodic=[(due, self._evaluate)],
        )
        history.close()
        best = _best(history.path)
        names = self._dev.majority()
        return result.write(
            self._workdir,
            run="finetune",
            task=self._task.name,
            split="dev",
            metrics={name: best[name] for name in names},
            majority=names,
            paper=paper,
            num_examples=len(self._dev),
            num_train_examples=self._batches.num_examples,
            num_steps=self._num_steps,
            best_step=best["step"],
            seed=self._seed,
            config_sha256=config_sha256,
            seconds=history.seconds,
        )

    def _evaluate(self, step, history):
        """Score dev, record it, and keep the weights if they are best."""
        best = _best(history.path)
        metrics = self._dev.measure(self._dev.logits(self._learner))
        history.write(step, split="dev", **metrics)
        logging.info(
            "%s after %d of %d updates: %s",
            self._dev.name,
            step,
            self._num_steps,
            ", ".join(f"{k} {v:.4f}" for k, v in metrics.items()),
        )
        main = self._task.main_metric(metrics)
        if best is None or main > best[next(iter(metrics))]:
            presets.save(self._network, self._workdir / "preset")


def _network(task, backbone, tokenizer, training):
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


def _learner(network, task, training):
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


def _sample(size, count, seed):
    """Return which examples are trained on: all, or `count` at random."""
    if count is None or count >= size:
        return np.arange(size)
    if count < 1:
        raise errors.InputError(
            f"NUM_TRAIN_EXAMPLES is {count}: give 1 or more, or None for all"
        )
    return np.sort(np.random.default_rng(seed).permutation(size)[:count])


def _best(path):
    """Return the first line of the best dev metric in a `metrics.jsonl`."""
    lines = [
        line for line in history_lib.read(path) if line.get("split") == "dev"
    ]
    if not lines:
        return None
    # step, split, then the paper's metric.
    name = next(key for key in lines[0] if key not in ("step", "split"))
    return max(lines, key=lambda line: line[name])


def _log_sizes(task, batches, dev, num_steps):
    logging.info(
        "%s: %s training examples of %.0f tokens on average, %s dev examples, "
        "%s updates of %d",
        task.name,
        f"{batches.num_examples:,}",
        batches.tokens_per_step / batches.batch_size,
        f"{len(dev):,}",
        f"{num_steps:,}",
        batches.batch_size,
    )
