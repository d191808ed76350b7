"""Fine-tuning on one labelled task (paper, sections 3.2 and 4.2)."""

import collections.abc
import dataclasses
import json
import statistics
import typing

import keras
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.evaluation import scoring
from gpt1_keras.models import preprocessors
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.runs import presets
from gpt1_keras.tasks import task as task_lib
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from gpt1_keras.training import strategy as strategy_lib

# -----------------------------------------------------------------------------
# One run for each of several seeds, and what they have in common.


def run_each(workdir, config_sha256, seed, seeds, run):
    """Call `run(directory, seed)` for each seed that is not finished.

    Args:
        workdir: pathlib.Path. A single seed runs in it; of several each runs
            in its own `seed_N/`, and the aggregate is written above.
        config_sha256: str.
        seed: int, used where `seeds` is None.
        seeds: tuple of different ints, or None.
        run: function `(directory, seed)` that writes a `result.json`.

    Returns:
        path of the `result.json` in `workdir`.
    """
    if seeds is None:
        return run(workdir, seed)
    is_list = isinstance(seeds, list | tuple)
    if not is_list or not seeds or len(set(seeds)) != len(seeds):
        raise errors.InputError(
            f"SEEDS is {seeds}: give different whole numbers, as in (1, 2, 3)"
        )
    found = []
    for number in seeds:
        directory = workdir / f"seed_{number}"
        if not results.is_finished(directory, config_sha256):
            logging.info("seed %s: %s", number, directory)
            run(directory, number)
        found.append(results.read(directory))
    return _aggregate(workdir, found)


def _aggregate(workdir, found):
    """Write the median and range of several results."""
    first = found[0]
    values = {
        name: [each["metrics"][name] for each in found]
        for name in first["metrics"]
    }
    own = ("metrics", "train_metrics", "best_step", "seed", "seconds")
    own += ("git_commit", "backend")
    common = {key: first[key] for key in first if key not in own}
    return results.write(
        workdir,
        **common,
        metrics={name: statistics.median(v) for name, v in values.items()},
        range={name: [min(v), max(v)] for name, v in values.items()},
        seeds={str(each["seed"]): each["metrics"] for each in found},
        seed=[each["seed"] for each in found],
        seconds=sum(each["seconds"] for each in found),
    )


# -----------------------------------------------------------------------------
# How labelled texts become training batches; gin chooses one.


def encoded_batches(train, **settings):
    """All texts become ids before the first update, exactly."""
    return example_batches.TrainingExamples(
        train.encoded, train.labels(), **settings
    )


def raw_batches(train, **settings):
    """Texts become ids in tf.data, while the model learns.

    Raises:
        InputError: the backend is not TensorFlow, whose graph the tokenizer
            is.
    """
    backend = keras.config.backend()
    if backend != "tensorflow":
        raise errors.InputError(
            "gin/data/raw_examples.gin needs KERAS_BACKEND=tensorflow, not "
            f"{backend}; the default encodes all texts beforehand"
        )
    from gpt1_keras.data import tf_raw_rows

    return tf_raw_rows.RawTrainingExamples(
        train.examples,
        train.labels(),
        tokenizer=train.tokenizer,
        transform=train.task.transform.__name__,
        max_sequence_length=train.max_sequence_length,
        **settings,
    )


# -----------------------------------------------------------------------------
# How a task is learnt: the settings, and what they make of a backbone.


@checks.value_object
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
        batches: function of `training_batches`: how text becomes batches.
    """

    batch_size: checks.Count
    microbatch_size: checks.NotRecipe[checks.Count | None]
    num_epochs: checks.Count
    num_train_examples: checks.Count | None
    sequence_length: checks.Length | None
    clip_norm: checks.NotNegative
    lm_loss_weight: checks.NotNegative
    softmax_over: typing.Annotated[
        str, checks.Dial(choices=("tokens", "released"))
    ]
    softmax_chunk: checks.NotRecipe[checks.Count]
    classifier_dropout: checks.Rate
    initializer_range: checks.NotNegative
    bucket_lengths: checks.NotRecipe[checks.Counts] = (
        example_batches.BUCKET_LENGTHS
    )
    pool_batches: checks.Count
    evaluation_batch_size: checks.NotRecipe[checks.Count]
    num_scored_train_examples: checks.NotRecipe[checks.Count | None]
    early_evaluation_steps: tuple[checks.Count, ...]
    dtype: checks.Dtype
    batches: collections.abc.Callable

    def check(self, strategy):
        """Complain of what cannot work, before anything heavy starts.

        Args:
            strategy: `strategy.Strategy` that it is learnt on.
        """
        strategy.check_batch(self.batch_size, self.microbatch_size)
        strategy.check_share(
            "evaluation_batch_size", self.evaluation_batch_size
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
                f"`sequence_length` {length} is more than the preset's "
                f"{num_positions} positions: lower it"
            )
        return length

    def labelled(self, task, examples, tokenizer, length, split):
        """Return `scoring.Labelled` examples of a split."""
        return scoring.Labelled(
            task,
            examples,
            tokenizer=tokenizer,
            max_sequence_length=length,
            batch_size=self.evaluation_batch_size,
            bucket_lengths=self.bucket_lengths,
            name=f"{task.name} {split}",
        )

    def training_batches(self, train, seed):
        """Return the batches of `train`, a `scoring.Labelled`."""
        return self.batches(
            train,
            batch_size=self.batch_size,
            seed=seed,
            bucket_lengths=self.bucket_lengths,
            pool_batches=self.pool_batches,
        )


def build_network(task, backbone, tokenizer, training):
    """Return the `GPT1TaskModel` of a task, its preprocessor inside."""
    space = task.label_space
    preprocessor = preprocessors.GPT1TaskPreprocessor(
        tokenizer_lib.GPT1Tokenizer.from_pipeline(tokenizer),
        transform=task.transform.__name__,
        sequence_length=training.max_sequence_length(
            backbone.max_sequence_length
        ),
        task=task.name,
        label_words=space.class_names,
        score_range=space.score_range,
        is_regression=type(space) is task_lib.Score,
    )
    head = task.build_head(
        num_outputs=space.num_outputs,
        dropout=training.classifier_dropout,
        initializer_range=training.initializer_range,
        dtype="float32",
        name="head",
    )
    return task_model.GPT1TaskModel(backbone, head, preprocessor=preprocessor)


def build_learner(network, task, training):
    """Return the `Learner` of a task, not compiled yet."""
    loss = losses.TaskLoss(
        task_loss=task.label_space.loss,
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


# -----------------------------------------------------------------------------
# Fine-tuning on one labelled task (paper, sections 3.2 and 4.2).

# Digests of the examples a run began with.
_EXAMPLES = "examples.json"


def finetune(
    *,
    workdir,
    config_sha256,
    task,
    data,
    pretrained,
    build_optimizer,
    training,
    intervals: checks.NotRecipe[object],
    seed: checks.Seed,
    seeds: tuple[checks.Seed, ...] | None,
    paper: checks.NotRecipe[dict],
    devices: checks.NotRecipe[object] = strategy_lib.Devices(),
):
    """Fine-tune on `task`; keep the weights that are best on dev.

    Writes `preset/` (backbone, head, tokenizer, what the labels mean),
    `metrics.jsonl`, `checkpoints/`, `examples.json` (digests of what is learnt
    and scored: it does not go on with others) and `result.json`; of several
    seeds each into its own `seed_N/`, and the median and range above them.
    Of the user's own files also `dev.jsonl`, the examples scored.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        task: `tasks.task.Task`.
        data: `sources.BenchmarkFiles`.
        pretrained: `presets.Pretrained`: where fine-tuning begins.
        build_optimizer: function of `num_steps`.
        training: `finetune.FineTuning`.
        intervals: `fit.Intervals`.
        devices: `strategy.Devices`.
        seed: int. New weights, dropout and the order of the data.
        seeds: tuple of ints for several runs, or None for `seed` alone.
        paper: dict from the task's name to the paper's metrics.

    Returns:
        path of `result.json`.
    """
    if results.is_finished(workdir, config_sha256):
        if task.is_own:  # Official files do not change.
            digests = _digests(task, data)
            for path in workdir.rglob(_EXAMPLES):
                _check_unchanged(path, digests)
        return results.path(workdir)
    strategy = devices.open()
    training.check(strategy)
    workdir = strategy.workdir(workdir)
    fit.set_dtype(training.dtype)
    tokenizer = pretrained.tokenizer()
    length = training.max_sequence_length(pretrained.num_positions())
    train, scored = _labelled(task, data, training, tokenizer, length)
    digests = _digests(task, data)

    def run(directory, seed):
        return _FineTuned(
            directory,
            seed,
            train=train,
            scored=scored,
            digests=digests,
            tokenizer=tokenizer,
            pretrained=pretrained,
            build_optimizer=build_optimizer,
            training=training,
            strategy=strategy,
            jit_compile=devices.jit_compile,
        ).train(intervals, config_sha256, paper.get(task.name, {}))

    return run_each(workdir, config_sha256, seed, seeds, run)


def _labelled(task, data, training, tokenizer, length):
    """Return the rows to learn from, and dict of those that are scored."""
    examples = data.read(task, "train")
    rows = examples_lib.draw_subset(
        len(examples), training.num_train_examples, name="num_train_examples"
    )
    train, dev = (
        training.labelled(task, part, tokenizer, length, split)
        for split, part in (
            ("train", [examples[row] for row in rows]),
            ("dev", data.read(task, "dev")),
        )
    )
    sample = train.part(
        examples_lib.draw_subset(
            len(train),
            training.num_scored_train_examples,
            name="num_scored_train_examples",
        ),
        f"{task.name} train sample",
    )
    return train, {"dev": dev, "train_sample": sample}


def _digests(task, data):
    return {
        split: examples_lib.sha256(data.read(task, split))
        for split in ("train", "dev")
    }


def _check_unchanged(path, digests):
    """Refuse other examples than those whose digests `path` holds."""
    begun = results.read_json(path)
    for split, digest in digests.items():
        if begun.get(split) != digest:
            raise errors.InputError(
                f"the {split} examples have changed since {path.parent} was "
                "begun: put the old files back, or give another --workdir"
            )


def _as_json(example):
    """Return an example as a line with the columns of `readers.custom`."""
    fields = dataclasses.asdict(example)
    del fields["group"]
    kept = {name: value for name, value in fields.items() if value != ""}
    if not example.choices:
        del kept["choices"]
    return json.dumps(kept, ensure_ascii=False) + "\n"


class _FineTuned:
    """One model: one task and one seed."""

    def __init__(
        self,
        workdir,
        seed,
        *,
        train,
        scored,
        digests,
        tokenizer,
        pretrained,
        build_optimizer,
        training,
        strategy,
        jit_compile,
    ):
        self._workdir = workdir
        self._seed = seed
        self._scored = scored
        self._digests = digests
        self._task = train.task
        keras.utils.clear_session()
        keras.utils.set_random_seed(seed)
        self._training = training
        self._strategy = strategy
        self._batches = training.training_batches(train, seed)
        self._num_steps = self._batches.steps_per_epoch * training.num_epochs
        with strategy.scope():
            backbone = pretrained.backbone()
            self._network = build_network(
                self._task, backbone, tokenizer, training
            )
            self._learner = build_learner(self._network, self._task, training)
            self._learner.compile(
                build_optimizer(num_steps=self._num_steps),
                jit_compile=jit_compile,
            )
        self._num_transferred_layers = pretrained.num_transferred_layers
        if self._num_transferred_layers is None:
            self._num_transferred_layers = backbone.num_layers

    def train(self, intervals, config_sha256, paper):
        """Train to the end and write the result; return its path."""
        due = self._training.evaluation_steps(self._batches.steps_per_epoch)
        dev = self._scored["dev"]
        _log_sizes(self._task, self._batches, dev, self._num_steps)
        self._keep_examples()
        history = fit.fit(
            self._learner,
            self._batches,
            workdir=self._workdir,
            num_steps=self._num_steps,
            tokens_per_step=self._batches.tokens_per_step,
            intervals=intervals,
            periodic=[(due, self._evaluate)],
            strategy=self._strategy,
        )
        history.close()
        best = _best(history.path)
        trained = _line(history.path, best["step"], "train_sample")
        names = dev.majority()
        return results.write(
            self._workdir,
            run="finetune",
            task=self._task.name,
            split="dev",
            metrics={name: best[name] for name in names},
            train_metrics={k: v for k, v in trained.items() if k in names},
            majority=names,
            paper=paper,
            num_examples=len(dev),
            num_cut=dev.encoded.num_cut,
            num_train_examples=self._batches.num_examples,
            num_train_cut=self._batches.num_cut,
            num_steps=self._num_steps,
            best_step=best["step"],
            backbone=type(self._network.backbone).__name__,
            num_transferred_layers=self._num_transferred_layers,
            lm_loss_weight=self._training.lm_loss_weight,
            seed=self._seed,
            config_sha256=config_sha256,
            seconds=history.seconds,
        )

    def _keep_examples(self):
        """Note what is learnt and scored; go on with nothing else."""
        path = self._workdir / _EXAMPLES
        if path.exists():
            _check_unchanged(path, self._digests)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomic(path, json.dumps(self._digests, indent=2) + "\n")
        if self._task.is_own:
            lines = map(_as_json, self._scored["dev"].examples)
            files.write_atomic(self._workdir / "dev.jsonl", "".join(lines))

    def _evaluate(self, step, history):
        """Score dev, record it, and keep the weights if they are best."""
        best = _best(history.path)
        for split, examples in self._scored.items():
            metrics = examples.measure(examples.logits(self._learner))
            history.write(step, split=split, **metrics)
            logging.info(
                "%s after %d of %d updates: %s",
                examples.name,
                step,
                self._num_steps,
                ", ".join(f"{k} {v:.4f}" for k, v in metrics.items()),
            )
            if split == "dev" and (
                best is None
                or self._task.main_metric(metrics) > best[next(iter(metrics))]
            ):
                presets.save(self._network, self._workdir / "preset")


def _best(path):
    """Return the first line of the best dev metric in a `metrics.jsonl`."""
    lines = [
        line
        for line in results.read_metrics(path)
        if line.get("split") == "dev"
    ]
    if not lines:
        return None
    # step, split, then the paper's metric.
    name = next(key for key in lines[0] if key not in ("step", "split"))
    return max(lines, key=lambda line: line[name])


def _line(path, step, split):
    """Return the line of a step and split in a `metrics.jsonl`, or {}."""
    for line in results.read_metrics(path):
        if (line["step"], line.get("split")) == (step, split):
            return line
    return {}


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
