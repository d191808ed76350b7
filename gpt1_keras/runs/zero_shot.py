"""Zero-shot tasks of a pretrained language model (paper, section 5)."""

import itertools
import time

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import precision
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import packing
from gpt1_keras.evaluation import scoring as scoring_lib
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import shared_prefix
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import zero_shot as zero_shot_lib
from gpt1_keras.text import subwords
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses


@checks.value_object
class Scoring:
    """How examples are scored; only `num_examples` affects the metrics."""

    batch_size: checks.NotRecipe[checks.Count] = 16  # packed, per forward pass
    bucket_lengths: checks.BucketLengths = example_batches.BUCKET_LENGTHS
    softmax_chunk: checks.SoftmaxChunk = 512
    # Size of a random subset of each split, always the same; None: all.
    num_examples: checks.Count | None = None


@checks.value_object
class ZeroShotTasks:
    """Zero-shot tasks with their files and how they are scored."""

    tasks: tuple[zero_shot_lib.ZeroShotTask, ...]
    data: sources.BenchmarkFiles
    scoring: Scoring
    split: checks.Split | None = None  # None: each task's own
    # During pretraining, the tasks are measured after this many steps, then
    # each time the number of steps has doubled.
    first_step: checks.NotRecipe[checks.Count] = 1

    def examples(self, task):
        """Return {split: examples}: the split to measure, then train if needed.

        If train itself is to be measured, it is the only one.
        """
        splits = [self.split or task.split]
        splits += ["train"] if task.needs_train else []
        count = self.scoring.num_examples
        return {
            split: examples_lib.draw_subset(self.data.read(task, split), count)
            for split in splits
        }

    def read(self):
        """Read all files and labels, so that errors in them show up early."""
        for task in self.tasks:
            for examples in self.examples(task).values():
                task.labels(examples)

    def measurer(self, task, backbone, tokenizer):
        """Return `function()` -> metrics with the current weights."""
        parts = [
            (examples, self._scorer(task, split, examples, backbone, tokenizer))
            for split, examples in self.examples(task).items()
        ]

        def measure():
            scored = [(examples, scorer()) for examples, scorer in parts]
            train = scored[-1] if task.needs_train else None
            return task.measure(*scored[0], train=train)

        return measure

    def _scorer(self, task, split, examples, backbone, tokenizer):
        """Return `function()` -> the `data.packing.Scores` of examples."""
        name, length = f"{task.name} {split}", backbone.max_sequence_length
        candidates = [
            task.candidates(e, tokenizer=tokenizer, max_sequence_length=length)
            for e in examples
        ]
        parts = [
            ids
            for each in candidates
            for ids in (each.prefix, *itertools.chain(*each.continuations))
        ]
        unknown = sum(ids.count(subwords.UNKNOWN_ID) for ids in parts)
        subwords.warn_of_unknown(name, unknown, sum(map(len, parts)))
        cuts = [each.num_cut for each in candidates if each.num_cut]
        if cuts:
            logging.warning(
                f"{name}: the beginnings of {len(cuts):,} of {len(examples):,}"
                f" texts were truncated to fit into {length} positions,"
                f" {sum(cuts):,} tokens in all"
            )
        packed = packing.PackedCandidates(
            candidates, share_prefix=backbone.can_share_prefix
        )
        batches = example_batches.ScoredExamples(
            packed,
            batch_size=self.scoring.batch_size,
            bucket_lengths=self.scoring.bucket_lengths,
        )
        learner = learner_lib.Learner(
            shared_prefix.shared_prefix_network(backbone),
            scorer=losses.BranchScores(
                num_branches=packed.num_branches,
                chunk_size=self.scoring.softmax_chunk,
            ),
        )
        return lambda: packed.scores(
            scoring_lib.predict(learner, batches, name=name)
        )

    def steps(self, num_steps):
        """Return the set of steps after which pretraining is measured."""
        steps, step = {num_steps}, self.first_step
        while step < num_steps:
            steps.add(step)
            step *= 2
        return steps if self.tasks else set()

    def recorder(self, backbone, tokenizer):
        """Return `function(step, history)` that measures and records all."""
        measurers = [self.measurer(t, backbone, tokenizer) for t in self.tasks]

        def record(step, history):
            values = {}
            for task, measure in zip(self.tasks, measurers, strict=True):
                metrics = measure()
                values |= {f"{task.name}_{k}": v for k, v in metrics.items()}
                shown = f"step {step}: {results.shown(metrics)}"
                logging.info(f"{task.name} zero-shot after {shown}")
            history.write(step, split="probes", **values)

        return record


def zero_shot(
    *,
    workdir,
    config_sha256,
    preset: checks.Path | None,
    tasks: ZeroShotTasks,
    dtype: checks.Dtype,
):
    """Measure a task, the only one of `tasks`, zero-shot; write the result."""
    directory = presets.find(preset)
    if len(tasks.tasks) != 1:
        raise errors.InputError(
            f"`ZeroShotTasks.tasks` holds {len(tasks.tasks)} tasks: this run"
            " measures one: give [@zero_shot.task()]"
        )
    (task,) = tasks.tasks
    read = tasks.examples(task)
    split, examples = next(iter(read.items()))
    facts = {
        "preset_sha256": presets.sha256(directory),
        "examples_sha256": examples_lib.sha256(sum(read.values(), [])),
    }
    if results.is_finished(workdir, config_sha256, **facts):
        return results.path(workdir)
    started = time.monotonic()
    precision.set_dtype(dtype)
    tokenizer = presets.load_tokenizer(directory)
    backbone = presets.load(backbone_lib.GPT1Backbone, directory, dtype=dtype)
    metrics = tasks.measurer(task, backbone, tokenizer)()
    logging.info(f"{task.name} {split}, zero-shot: {results.shown(metrics)}")
    return results.write(
        workdir,
        run="zero_shot",
        task=task.name,
        split=split,
        metrics=metrics,
        majority=task.majority(examples),
        random=task.random,
        num_examples=len(examples),
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(directory),
        **facts,
        backbone=type(backbone).__name__,
        num_layers=backbone.num_layers,
    )
