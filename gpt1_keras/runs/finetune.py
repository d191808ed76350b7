"""Fine-tuning on one labelled task (paper, sections 3.2 and 4.2)."""

import dataclasses
import json

import keras
from absl import logging

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import subset
from gpt1_keras.evaluation import json_files
from gpt1_keras.runs import fitting
from gpt1_keras.runs import presets
from gpt1_keras.runs import recipe
from gpt1_keras.runs import result
from gpt1_keras.runs import seeds as seeds_lib
from gpt1_keras.training import history as history_lib

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
    intervals,
    devices,
    seed,
    seeds,
    paper,
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
        data: `benchmark_files.BenchmarkFiles`.
        pretrained: `pretrained.Pretrained`: where fine-tuning begins.
        build_optimizer: function of `num_steps`.
        training: `recipe.FineTuning`.
        intervals: `fitting.Intervals`.
        devices: `strategy.Devices`.
        seed: int. New weights, dropout and the order of the data.
        seeds: tuple of ints for several runs, or None for `seed` alone.
        paper: dict from the task's name to the paper's metrics.

    Returns:
        path of `result.json`.
    """
    if result.is_finished(workdir, config_sha256):
        if task.is_own:  # Official files do not change.
            digests = _digests(task, data)
            for path in workdir.rglob(_EXAMPLES):
                _check_unchanged(path, digests)
        return result.path(workdir)
    strategy = devices.open()
    training.check(strategy)
    workdir = strategy.workdir(workdir)
    fitting.set_dtype(training.dtype)
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
        ).train(intervals, config_sha256, paper.get(task.name, {}))

    return seeds_lib.run_each(workdir, config_sha256, seed, seeds, run)


def _labelled(task, data, training, tokenizer, length):
    """Return the rows to learn from, and dict of those that are scored."""
    examples = data.read(task, "train")
    rows = subset.draw(
        len(examples), training.num_train_examples, dial="NUM_TRAIN_EXAMPLES"
    )
    train, dev = (
        training.labelled(task, part, tokenizer, length, split)
        for split, part in (
            ("train", [examples[row] for row in rows]),
            ("dev", data.read(task, "dev")),
        )
    )
    sample = train.part(
        subset.draw(
            len(train),
            training.num_scored_train_examples,
            dial="NUM_SCORED_TRAIN_EXAMPLES",
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
    begun = json_files.read(path)
    for split, digest in digests.items():
        if begun.get(split) != digest:
            raise errors.InputError(
                f"the {split} examples have changed since {path.parent} was "
                "begun: put the old files back, or give another --workdir"
            )


def _as_json(example):
    """Return an example as a line with `readers.named_columns`' names."""
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
            self._network = recipe.network(
                self._task, backbone, tokenizer, training
            )
            self._learner = recipe.learner(self._network, self._task, training)
            self._learner.compile(
                build_optimizer(num_steps=self._num_steps),
                jit_compile=training.jit_compile,
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
        history = fitting.fit(
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
        return result.write(
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
        line for line in history_lib.read(path) if line.get("split") == "dev"
    ]
    if not lines:
        return None
    # step, split, then the paper's metric.
    name = next(key for key in lines[0] if key not in ("step", "split"))
    return max(lines, key=lambda line: line[name])


def _line(path, step, split):
    """Return the line of a step and split in a `metrics.jsonl`, or {}."""
    for line in history_lib.read(path):
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
