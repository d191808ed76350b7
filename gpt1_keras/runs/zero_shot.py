"""Tasks answered by the language model alone (paper, section 5)."""

import collections.abc
import dataclasses
import time

from absl import logging

from gpt1_keras import checks
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import packing
from gpt1_keras.evaluation import scoring as scoring_lib
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import shared_prefix
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses

# -----------------------------------------------------------------------------
# A language model's scores of items, and a probe's metrics of them.


@checks.value_object
class Scoring:
    """How items are scored; their scores do not depend on it.

    Attributes:
        batch_size: int. Items per forward pass.
        bucket_lengths: ints. Lengths that batches are padded to.
        softmax_chunk: int. Tokens whose logits exist at one time.
        num_examples: int or None. So many of each split, drawn at random and
            always the same; None: all.
    """

    batch_size: checks.NotRecipe[checks.Count] = 16
    bucket_lengths: checks.NotRecipe[checks.Counts] = (
        *example_batches.BUCKET_LENGTHS,
        640,
    )
    softmax_chunk: checks.NotRecipe[checks.Count] = 512
    num_examples: checks.Count | None = None


@checks.value_object
class Probing:
    """Probes on files, ready for any model.

    Attributes:
        probes: list of `tasks.zero_shot.ZeroShotTask`.
        data: `sources.BenchmarkFiles`.
        split: str, or None for each probe's own.
        scoring: `Scoring`.
        first_step: int. While a model is pretrained, it is probed after
            this many updates, twice as many, four times ...
    """

    probes: collections.abc.Sequence
    data: sources.BenchmarkFiles
    scoring: Scoring
    split: checks.Split | None = None
    first_step: checks.NotRecipe[checks.Count] = 1
    _examples: dict = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def split_of(self, probe):
        """Return the split that a probe is measured on."""
        return self.split or probe.split

    def examples(self, probe, split):
        """Return the examples of a split, read the first time."""
        key = (probe.name, split)
        if key not in self._examples:
            examples = self.data.read(probe, split)
            rows = examples_lib.draw_subset(
                len(examples),
                self.scoring.num_examples,
                name="Scoring.num_examples",
            )
            self._examples[key] = [examples[row] for row in rows]
        return self._examples[key]

    def read(self):
        """Read all files now, so that what is wrong is found early."""
        for probe in self.probes:
            for split in self._splits(probe):
                self.examples(probe, split)

    def _splits(self, probe):
        return [self.split_of(probe), *(["train"] if probe.needs_train else [])]

    def measurer(self, probe, backbone, tokenizer):
        """Return a function `(stop=None) -> metrics` of a model as it is."""
        splits = self._splits(probe)
        scorers = {
            split: _Scorer(
                backbone,
                self._items(probe, split, backbone, tokenizer),
                self.scoring,
                name=f"{probe.name} {split}",
            )
            for split in splits
        }

        def measure(stop=None):
            scored = [
                (self.examples(probe, split), scorers[split](stop))
                for split in splits
            ]
            train = scored[1] if probe.needs_train else None
            return probe.measure(*scored[0], train=train)

        return measure

    def _items(self, probe, split, backbone, tokenizer):
        """Return the items of a split; say where something was cut."""
        items = [
            probe.candidates(
                example,
                tokenizer=tokenizer,
                max_sequence_length=backbone.max_sequence_length,
            )
            for example in self.examples(probe, split)
        ]
        num_cut = sum(item.num_cut > 0 for item in items)
        if num_cut:
            logging.warning(
                "%s %s: of %s of %s texts the beginning was cut to fit into "
                "%d positions, %s tokens in all",
                *(probe.name, split, f"{num_cut:,}", f"{len(items):,}"),
                backbone.max_sequence_length,
                f"{sum(item.num_cut for item in items):,}",
            )
        return items

    def steps(self, num_steps):
        """Return the set of updates after which a pretraining is probed."""
        steps, step = {num_steps}, self.first_step
        while step < num_steps:
            steps.add(step)
            step *= 2
        return steps if self.probes else set()

    def recorder(self, backbone, tokenizer):
        """Return `function(step, history)` that measures and records all."""
        measurers = {}

        def record(step, history):
            values = {}
            for probe in self.probes:
                if probe.name not in measurers:
                    measurers[probe.name] = self.measurer(
                        probe, backbone, tokenizer
                    )
                metrics = measurers[probe.name]()
                values |= {f"{probe.name}_{k}": v for k, v in metrics.items()}
                main, value = next(iter(metrics.items()))
                logging.info(
                    "%s after %d updates, zero-shot: %s %.4f",
                    probe.name,
                    step,
                    main,
                    value,
                )
            history.write(step, split="probes", **values)

        return record


class _Scorer:
    """A language model's scores of items; the graph is built once."""

    def __init__(self, backbone, items, scoring, *, name):
        self._packed = packing.PackedCandidates(
            items, share_prefix=backbone.can_share_prefix
        )
        self._name = name
        self._learner = learner_lib.Learner(
            shared_prefix.shared_prefix_network(backbone),
            scorer=losses.BranchScores(
                num_branches=self._packed.num_branches,
                chunk_size=scoring.softmax_chunk,
            ),
        )
        self._batches = example_batches.ScoredExamples(
            self._packed,
            batch_size=scoring.batch_size,
            bucket_lengths=scoring.bucket_lengths,
        )

    def __call__(self, stop=None):
        """Return the `data.packing.Scores` of each item."""
        found = scoring_lib.predict(
            self._learner, self._batches, name=self._name, stop=stop
        )
        return self._packed.scores(
            found["log_probability"],
            found["num_tokens"],
            found["num_likeliest"],
        )


# -----------------------------------------------------------------------------
# Tasks answered by the language model alone (paper, section 5).


def zero_shot(
    *,
    workdir,
    config_sha256,
    preset: checks.Path | None,
    probing,
    dtype: checks.Dtype,
):
    """Measure one probe on a pretrained model; write `result.json`.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        preset: path of a preset, or None for the one shipped.
        probing: `zero_shot.Probing` of one probe.
        dtype: str, Keras dtype policy.

    Returns:
        path of `result.json`.
    """
    directory = presets.find(preset)
    found = results.path(workdir)
    if not presets.is_newer(directory, found):
        if results.is_finished(workdir, config_sha256):
            return found
    started = time.monotonic()
    fit.set_dtype(dtype)
    (probe,) = probing.probes
    split = probing.split_of(probe)
    examples = probing.examples(probe, split)
    tokenizer = presets.load_tokenizer(directory)
    backbone = presets.load(backbone_lib.GPT1Backbone, directory, dtype=dtype)
    with fit.catch_signals() as stop:
        metrics = probing.measurer(probe, backbone, tokenizer)(stop)
    logging.info(
        "%s %s, zero-shot: %s",
        probe.name,
        split,
        ", ".join(
            f"{name} {value:,}"
            if isinstance(value, int)
            else f"{name} {value:.4f}"
            for name, value in metrics.items()
        ),
    )
    return results.write(
        workdir,
        run="zero_shot",
        task=probe.name,
        split=split,
        metrics=metrics,
        majority=probe.majority(examples),
        random=probe.random,
        paper={},
        num_examples=len(examples),
        seed=None,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(directory),
    )
