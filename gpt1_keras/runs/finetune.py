"""Fine-tuning on one labelled task (paper, sections 3.2 and 4.2)."""

import dataclasses
import functools
import inspect
import statistics
import typing

import keras
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import precision
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import transforms
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.evaluation import plots
from gpt1_keras.evaluation import scoring
from gpt1_keras.evaluation import word_baselines
from gpt1_keras.models import preprocessors
from gpt1_keras.models import shared_prefix
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import task as task_lib
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from gpt1_keras.training import strategy as strategy_lib

# Digests of the examples and the preset that a run started with.
EXAMPLES = "examples.json"
# With more training rows, the baselines could take as long as the network.
_MOST_BASELINE_ROWS = 100_000
_MOST_EVALUATIONS = 20
_OF_CLASSES = ("classes", "confusion")  # entries of results and checksums


def encoded_batches(labelled, **settings):
    """Return batches of `scoring.Labelled` examples, encoded in advance."""
    return example_batches.TrainingExamples(
        labelled.encoded, labelled.labels(), **settings
    )


def raw_batches(labelled, **settings):
    """Return batches of `scoring.Labelled` examples, encoded while training."""
    sources.check_tensorflow(
        "gin/data/raw_examples.gin", "leave it out to encode texts beforehand"
    )
    from gpt1_keras.data import tf_raw_rows

    return tf_raw_rows.RawTrainingExamples(
        labelled.examples,
        labelled.labels(),
        tokenizer=labelled.tokenizer,
        transform=labelled.task.transform.__name__,
        max_sequence_length=labelled.max_sequence_length,
        **settings,
    )


@checks.value_object
class FineTuning:
    """Recipe of fine-tuning."""

    batch_size: checks.Count  # examples per step
    # Examples of full length per forward pass on each replica; None: all.
    microbatch_size: checks.NotRecipe[checks.Count | None]
    # Passes over the examples; None: as few as `min_epochs`, `min_steps` allow.
    num_epochs: checks.Count | None
    min_epochs: checks.Count = 1
    min_steps: checks.Index = 0
    num_train_examples: checks.Count | None  # a random subset; None: all
    sequence_length: checks.Length | None  # in tokens; None: all positions
    clip_norm: checks.NotNegative  # largest norm of the gradient
    lm_loss_weight: checks.NotNegative  # lambda of equation 5
    softmax_over: typing.Literal["tokens", "released"]  # see `losses`
    softmax_chunk: checks.SoftmaxChunk
    classifier_dropout: checks.Rate  # before the head's linear layer
    initializer_range: checks.Share  # standard deviation of the head's weights
    bucket_lengths: checks.BucketLengths = example_batches.BUCKET_LENGTHS
    # Batches in the length-bucketing pool; 1 is a plain random order.
    pool_batches: checks.Count
    evaluation_batch_size: checks.NotRecipe[checks.Count]  # per forward pass
    # Random training examples that are scored whenever dev is; None: all.
    num_scored_train_examples: checks.NotRecipe[checks.Count | None]
    # Steps after which dev is also scored before the first regular evaluation.
    early_evaluation_steps: tuple[checks.Count, ...]
    # Training ends after this many evaluations in a row without a better score
    # on dev; None: never early.
    patience: checks.Count | None = None
    # With fewer dev examples, the last weights are kept; `patience` is ignored.
    min_dev_examples: checks.Index = 0
    dtype: checks.Dtype
    batches: checks.BatchesBuilder  # `encoded_batches` or `raw_batches`
    # Whether candidates share a row with their common prefix, except with
    # `raw_batches`. The loss is the same; dropout draws other masks.
    share_prefix: bool = True

    def num_steps(self, steps_per_epoch):
        """Return the steps of all passes over the training examples."""
        fewest = max(self.min_epochs, -(-self.min_steps // steps_per_epoch))
        return steps_per_epoch * (self.num_epochs or fewest)

    def evaluation_steps(self, steps_per_epoch):
        """Return the set of steps after which dev is scored.

        It is scored after each epoch; of more than 20, after every few.
        """
        num_steps = self.num_steps(steps_per_epoch)
        num_epochs = num_steps // steps_per_epoch
        interval = steps_per_epoch * -(-num_epochs // _MOST_EVALUATIONS)
        ends = {*range(interval, num_steps, interval), num_steps}
        early = (x for x in self.early_evaluation_steps if x < min(ends))
        return ends.union(early)

    def is_over(self, history):
        """Return whether `patience` evaluations brought no better score."""
        lines, best = _dev_lines(history.path)
        return sum(x["step"] > best["step"] for x in lines) >= self.patience

    def labelled(self, task, pretrained, examples, split):
        return scoring.Labelled(
            task,
            examples,
            tokenizer=pretrained.tokenizer,
            max_sequence_length=presets.check_length(
                self.sequence_length, pretrained.num_positions()
            ),
            batch_size=self.evaluation_batch_size,
            bucket_lengths=self.bucket_lengths,
            name=f"{task.name} {split}",
            share_prefix=self.share_prefix
            # Gin passes functions in a wrapper.
            and inspect.unwrap(self.batches) is encoded_batches
            and transforms.SIGNATURES[task.transform.__name__].shares_prefix
            and pretrained.can_share_prefix(),
        )

    def training_batches(self, train, seed):
        return self.batches(
            train,
            batch_size=self.batch_size,
            seed=seed,
            bucket_lengths=self.bucket_lengths,
            pool_batches=self.pool_batches,
        )

    def build_network(self, task, backbone, tokenizer):
        """Return the `GPT1TaskModel` of a task with its preprocessor."""
        space = task.label_space
        preprocessor = preprocessors.GPT1TaskPreprocessor(
            preprocessors.GPT1Tokenizer.from_pipeline(tokenizer),
            transform=task.transform.__name__,
            sequence_length=self.sequence_length
            or backbone.max_sequence_length,
            task=task.name,
            label_words=space.class_names,
            score_range=space.score_range,
            is_regression=type(space) is task_lib.Score,
        )
        head = space.build_head(
            num_outputs=space.num_outputs,
            dropout=self.classifier_dropout,
            initializer_range=self.initializer_range,
            dtype="float32",
            name="head",
        )
        return task_model.GPT1TaskModel(backbone, head, preprocessor)

    def build_learner(self, network, task, *, share_prefix=False):
        """Return the `Learner` of a task, not yet compiled."""
        full_length = network.preprocessor.sequence_length
        lm_loss = losses.LanguageModelLoss
        if share_prefix:
            lm_loss = losses.PackedLanguageModelLoss
            network = shared_prefix.shared_prefix_network(
                network.backbone, network.head
            )
        loss = losses.TaskLoss(
            task_loss=task.label_space.loss,
            language_model_loss=lm_loss(
                chunk_size=self.softmax_chunk, softmax_over=self.softmax_over
            ),
            lm_weight=self.lm_loss_weight,
        )
        return learner_lib.Learner(
            network,
            loss=loss,
            clip_norm=self.clip_norm,
            micro_batch_size=self.microbatch_size,
            full_length=full_length,
        )


def finetune(
    *,
    workdir,
    config_sha256,
    task: task_lib.Task,
    data: sources.BenchmarkFiles,
    pretrained: presets.Pretrained,
    build_optimizer: checks.OptimizerBuilder,
    training: FineTuning,
    intervals: checks.NotRecipe[fit.Intervals],
    seed: checks.Seed,
    seeds: checks.Seeds | None,
    paper: checks.NotRecipe[checks.NamedNumbers],
    devices: checks.NotRecipe[strategy_lib.Devices] = strategy_lib.Devices(),
):
    """Fine-tune on `task`, and save the weights that are best on dev.

    Writes `preset/`, `metrics.jsonl`, `checkpoints/`, `examples.json` (digests
    of the examples and the preset, which must not change before a run resumes),
    `plots/learning_curve.png` and `result.json`. If test has public labels, the
    saved weights are scored on it once, at the end: `test` in the result.
    `seed` determines new weights, dropout and the order of the data. Each of
    several `seeds` has its own `seed_N/`; median and range are in the folder
    above. The dev rows of the user's own data go to `dev.jsonl`, skipped rows
    to `skipped_rows.tsv`.
    """
    checks.check("task", task, task_lib.Task)
    start = {"preset": presets.sha256(pretrained.directory)}
    # Those of this run, not of other runs in subfolders.
    begun = (*workdir.glob(EXAMPLES), *workdir.glob(f"seed_*/{EXAMPLES}"))
    for path in begun:
        if task.is_own:
            check_or_write_examples(path.parent, task, data)
        results.check_inputs(path, start)
    if presets.is_finished(workdir, config_sha256):
        return results.path(workdir)
    for path in begun:  # Seeds on different examples must not be mixed.
        check_or_write_examples(path.parent, task, data)
    strategy = devices.open()
    strategy.check_batch(training.batch_size, training.microbatch_size)
    size = training.evaluation_batch_size
    strategy.check_share("evaluation_batch_size", size)
    shared, workdir = workdir, strategy.workdir(workdir)
    dev = training.labelled(task, pretrained, data.read(task, "dev"), "dev")
    test = None
    if task.has_labelled_test:
        try:
            test = data.read(task, "test")
        except errors.InputError as error:
            logging.warning(f"{task.name} will not be scored on test: {error}")
    run = _Run(
        task=task,
        data=data,
        dev=dev,
        test=test,
        pretrained=pretrained,
        build_optimizer=build_optimizer,
        training=training,
        intervals=intervals,
        paper=paper,
        devices=devices,
        strategy=strategy,
        start=start,
        config_sha256=config_sha256,
    )
    if run.keeps_last:
        logging.warning(
            f"{dev.name}: {len(dev)} rows are too few to choose an epoch:"
            " keeping the weights of the last one"
        )
    if seeds is None:
        return run.train(workdir, seed)
    found = []
    for number in seeds:
        name = f"seed_{number}"
        # All workers check the chief's folder, the only one with presets.
        if not presets.is_finished(shared / name, config_sha256):
            logging.info(f"seed {number}: {workdir / name}")
            run.train(workdir / name, number)
        found.append(results.read(workdir / name))
    return _aggregate(workdir, found)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class _Run:
    """Fine-tuning with any seed: what all seeds share."""

    task: task_lib.Task
    data: sources.BenchmarkFiles
    dev: scoring.Labelled
    test: list | None  # None without public labels
    pretrained: presets.Pretrained
    build_optimizer: checks.OptimizerBuilder
    training: FineTuning
    intervals: fit.Intervals
    paper: dict
    devices: strategy_lib.Devices
    strategy: strategy_lib.Strategy
    start: dict  # digests of what must not change before a seed resumes
    config_sha256: str

    @property
    def keeps_last(self):
        return len(self.dev) < self.training.min_dev_examples

    @property
    def can_stop(self):
        return self.training.patience is not None and not self.keeps_last

    def train(self, directory, seed):
        """Train with one seed; return the path of its result."""
        task, training, dev = self.task, self.training, self.dev
        keras.utils.clear_session()  # which also resets the dtype policy
        precision.set_dtype(training.dtype)
        keras.utils.set_random_seed(seed)
        train, sample = self._training_examples(
            seed if training.num_train_examples else 0
        )
        batches = training.training_batches(train, seed)
        num_steps = training.num_steps(batches.steps_per_epoch)
        network, learner = self._build(num_steps)
        backbone = network.backbone
        num_tokens = batches.tokens_per_step / batches.batch_size
        logging.info(
            f"{task.name}: {batches.num_examples:,} training examples of"
            f" {num_tokens:.0f} tokens on average, {len(dev):,} dev examples,"
            f" {num_steps:,} steps of {batches.batch_size}"
        )
        check_or_write_examples(directory, task, self.data, **self.start)
        custom_lib.report_skipped(task.skipped, directory)
        preset = directory / "preset"

        def evaluate(step, history):
            """Score dev and a sample of train; save weights to be kept."""
            for split, examples in (("dev", dev), ("train_sample", sample)):
                logits = examples.logits(learner)
                metrics = examples.measure(logits)
                history.write(step, split=split, **metrics)
                shown = f"step {step} of {num_steps}: {results.shown(metrics)}"
                logging.info(f"{examples.name} after {shown}")
                if split != "dev" or not self.strategy.is_chief:
                    continue
                _, kept = _dev_lines(history.path, self.keeps_last)
                if kept["step"] == step:
                    facts = {"metrics": metrics} | examples.confusion(logits)
                    presets.save(network, preset, step=step, **facts)

        due = training.evaluation_steps(batches.steps_per_epoch)
        # Candidates that share a row are one sequence.
        if not dev.share_prefix:
            num_tokens /= dev.encoded.num_candidates
        history = fit.fit(
            learner,
            batches,
            workdir=directory,
            num_steps=num_steps,
            tokens_per_step=batches.tokens_per_step,
            flops_per_token=backbone.flops_per_token(
                num_tokens, with_softmax=training.lm_loss_weight > 0
            ),
            intervals=self.intervals,
            periodic=[(due, evaluate)],
            strategy=self.strategy,
            is_over=training.is_over if self.can_stop else None,
        )
        history.close()
        found = _measured(
            history.path, dev, num_steps, self.keeps_last, self.can_stop
        )
        if self.strategy.is_chief:
            best = found["best_step"]
            sealed = presets.read_back(type(network), preset, step=best)
            found |= {k: sealed[k] for k in _OF_CLASSES if k in sealed}
            lines = results.read_metrics(history.path)
            curve = directory / "plots" / "learning_curve.png"
            plots.scores(lines, next(iter(found["metrics"])), curve)
            if self.test is not None:
                found["test"] = _score_test(task, self.test, preset, training)
        if task.is_own:
            found["baselines"] = _baselines(train, dev, found["metrics"])
        layers = self.pretrained.num_transferred_layers
        layers = backbone.num_layers if layers is None else layers
        return results.write(
            directory,
            run="finetune",
            task=task.name,
            split="dev",
            **found,
            paper=self.paper.get(task.name, {}),
            num_examples=len(dev),
            num_cut=dev.encoded.num_cut,
            num_train_examples=batches.num_examples,
            num_train_cut=batches.num_cut,
            num_steps=num_steps,
            backbone=type(backbone).__name__,
            num_layers=backbone.num_layers,
            num_transferred_layers=layers,
            lm_loss_weight=training.lm_loss_weight,
            seed=seed,
            config_sha256=self.config_sha256,
            seconds=history.seconds,
        )

    @functools.cached_property
    def _drawn(self):
        """{seed drawn last: its training examples, and those to score}."""
        return {}

    def _training_examples(self, seed):
        """Return the training examples, and those of them to score."""
        task, training = self.task, self.training
        if seed in self._drawn:
            return self._drawn[seed]
        self._drawn.clear()
        examples = examples_lib.draw_subset(
            self.data.read(task, "train"),
            training.num_train_examples,
            seed=seed,
        )
        scored = examples_lib.draw_subset(
            examples, training.num_scored_train_examples
        )
        labelled = functools.partial(training.labelled, task, self.pretrained)
        found = labelled(examples, "train"), labelled(scored, "train sample")
        return self._drawn.setdefault(seed, found)

    def _build(self, num_steps):
        """Return a new network and its compiled learner."""
        fields = transforms.SIGNATURES[self.task.transform.__name__].fields
        with self.strategy.scope():
            backbone = self.pretrained.backbone(
                num_special_tokens=3, of_single_texts=fields == ("text",)
            )
            network = self.training.build_network(
                self.task, backbone, self.dev.tokenizer
            )
            learner = self.training.build_learner(
                network, self.task, share_prefix=self.dev.share_prefix
            )
            optimizer = self.build_optimizer(num_steps=num_steps)
            learner.compile(optimizer, jit_compile=self.devices.jit_compile)
        return network, learner


def _score_test(task, examples, preset, training):
    """Score the weights in `preset` on test; return an entry of the result."""
    settings = presets.Scoring(
        batch_size=training.evaluation_batch_size,
        bucket_lengths=training.bucket_lengths,
        dtype=training.dtype,
    )
    model = presets.FineTuned(preset, settings)
    labelled = model.labelled(task, examples, "test")
    metrics = labelled.measure(model.logits(labelled))
    shown = results.shown(metrics)
    logging.info(f"{labelled.name}, the best weights on dev: {shown}")
    return {"metrics": metrics, "num_examples": len(labelled)}


def _baselines(train, dev, metrics):
    """Measure the baselines; log them beside the model's metrics."""
    task = train.task
    is_choice = isinstance(task.label_space, task_lib.Choice)
    found = {}
    if not is_choice and len(train) <= _MOST_BASELINE_ROWS:
        found = word_baselines.measure(task, train.examples, dev.examples)
    name, value = next(iter(metrics.items()))
    others = {}
    if not task.label_space.score_range:
        others["majority class"] = dev.majority()[name]
    titles = {"words": "TF-IDF", "overlap": "word overlap"}
    others |= {titles[each]: found[each][name] for each in found}
    if others:
        shown = "; ".join(f"{k}: {v:.3f}" for k, v in others.items())
        rival = max(others.values())
        if value <= rival:
            shown += "; the network is no better"
        # About two standard errors of an accuracy.
        margin = len(dev) ** -0.5
        if abs(value - rival) < margin:
            shown += (
                f"; on {len(dev)} rows, a difference below {margin:.2f} may be"
                " chance"
            )
        logging.info(f"{task.name} on dev: {name} {value:.3f}; {shown}")
    return found


def check_or_write_examples(directory, task, data, **start):
    """Record a new run's examples and `start`; refuse others if it resumes."""
    splits = ["train", "dev"]
    if task.is_own and task.has_labelled_test:
        splits.append("test")
    digests = {x: examples_lib.sha256(data.read(task, x)) for x in splits}
    results.check_inputs(directory / EXAMPLES, digests | start)
    if task.is_own:  # With the columns of `readers.custom`.
        names = ("text", "text_pair", "choices", "label")
        rows = [
            {k: getattr(e, k) for k in names if getattr(e, k) not in ("", ())}
            for e in data.read(task, "dev")
        ]
        lines = "".join(map(files.json_line, rows))
        files.write_changed(directory / "dev.jsonl", lines)


def _dev_lines(path, keeps_last=False):
    """Return the dev lines of `metrics.jsonl`, and the first best or the last.

    The first metric of the first line decides, because an earlier version of
    this program may have begun the run with another metric than today's.
    """
    lines = [x for x in results.read_metrics(path) if x.get("split") == "dev"]
    if keeps_last or not lines:
        return lines, lines[-1] if lines else None
    name = next(name for name in lines[0] if name not in ("step", "split"))
    return lines, max(lines, key=lambda line: line[name])


def _measured(path, dev, num_steps, keeps_last, can_stop):
    """Return the result's entries for the kept step in `metrics.jsonl`."""
    lines, kept = _dev_lines(path, keeps_last)
    majority = dev.majority()
    if not lines or (lines[-1]["step"] < num_steps and not can_stop):
        raise errors.InputError(
            f"{path} lacks evaluations of this run: give another --workdir"
        )
    last_step, best_step = lines[-1]["step"], kept["step"]
    metrics = {
        line.get("split"): {k: line[k] for k in majority if k in line}
        for line in results.read_metrics(path)
        if line["step"] == best_step
    }
    found = {
        "metrics": metrics["dev"],
        "train_metrics": metrics.get("train_sample", {}),
        "majority": majority,
        "best_step": best_step,
    }
    if last_step < num_steps:
        logging.info(
            f"stopped early after step {last_step} of {num_steps}: no better"
            f" score on dev since step {best_step}"
        )
        found["stopped_early"] = last_step
    return found


def _aggregate(workdir, found):
    """Write a result with the median and range over several seeds."""

    def median(metrics):
        return {
            name: statistics.median(each[name] for each in metrics)
            for name in metrics[0]
        }

    first, metrics = found[0], [each["metrics"] for each in found]
    of_one = ("train_metrics", "best_step", "stopped_early", *_OF_CLASSES)
    facts = {k: v for k, v in first.items() if k not in (*of_one, "test")}
    if all("test" in each for each in found):
        of_test = median([each["test"]["metrics"] for each in found])
        facts["test"] = first["test"] | {"metrics": of_test}
    values = {name: [each[name] for each in metrics] for name in metrics[0]}
    facts |= {
        "metrics": median(metrics),
        "range": {name: [min(v), max(v)] for name, v in values.items()},
        "seeds": {str(each["seed"]): each["metrics"] for each in found},
        "seed": [each["seed"] for each in found],
        "seconds": sum(each["seconds"] for each in found),
    }
    return results.write(workdir, **facts)
