"""Results that may be compared: over seeds, and between settings."""

import dataclasses
import statistics

from gpt1_keras import bindings
from gpt1_keras.evaluation import workdirs

# What several runs of one setting, or the rows of an ablation, differ in.
_SEED_PARAMETERS = ("seed", "seeds")
_COMPARED = {
    *("RUN", "SEED", "SEEDS", "TASK"),
    *("LM_LOSS_WEIGHT", "NUM_TRANSFERRED_LAYERS"),
}
# How one run or a run of many (suite, grid) gives a task to fine-tuning.
_GIVING_FUNCTIONS = ("suite.", "grid.")
_GIVEN = ("finetune.finetune.task", "finetune.finetune.data")


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """All seeds of one setting.

    Attributes:
        runs: tuple of `workdirs.Run` that have the setting.
        seeds: dict from a seed to its metrics, shares in 0..1.
    """

    runs: tuple
    seeds: dict

    @property
    def run(self):
        """The first of the runs: what it says holds for all."""
        return self.runs[0]

    @property
    def metric(self):
        """Name of the paper's metric: the first."""
        return next(iter(next(iter(self.seeds.values()))))

    def values(self, metric):
        """Return the values of a metric that are there, a seed each."""
        found = (metrics.get(metric) for metrics in self.seeds.values())
        return [value for value in found if value is not None]

    def median(self, metric):
        """Return the median over seeds, None where the metric is missing."""
        values = self.values(metric)
        return statistics.median(values) if values else None

    def mean(self, metric):
        """Return the mean over seeds, None where the metric is missing."""
        values = self.values(metric)
        return statistics.fmean(values) if values else None

    def span(self, metric):
        """Return (lowest, highest) over seeds, None for less than two."""
        values = self.values(metric)
        return (min(values), max(values)) if len(values) > 1 else None


def over_seeds(runs):
    """Join runs that differ in the seed alone.

    Args:
        runs: iterable of `workdirs.Run`; those without metrics are left out.

    Returns:
        list of `Result`, in the order of their first runs. Of a seed that was
        run twice the first counts.
    """
    groups = {}
    for run in runs:
        if any(run.seeds.values()):
            groups.setdefault(_setting(run), []).append(run)
    results = []
    for group in groups.values():
        seeds = {}
        for run in group:
            seeds |= {k: v for k, v in run.seeds.items() if k not in seeds}
        results.append(Result(tuple(group), seeds))
    return results


def differences(one, other):
    """Return the names of settings in which two runs differ.

    Without those that an ablation compares, and without what a suite or a
    grid runs besides; between networks of different kinds neither the preset.

    Args:
        one, other: `workdirs.Run`; without a `config.gin` nothing is known.
    """
    if one.bindings is None or other.bindings is None:
        return []
    expected = _COMPARED
    if one.backbone != other.backbone:
        expected = expected | {"PRESET"}
    found = setting_names(one.bindings, other.bindings)
    return [name for name in found if name not in expected]


def setting_names(one, other):
    """Return the names of what differs in two `bindings.Bindings`.

    Without what says which task is run, and what else in a suite or a grid.
    """
    found = bindings.differences(_of_one_task(one), _of_one_task(other))
    return [name for name, _, _ in found]


def preferred(results):
    """Return the `Result` that stands for several settings, None of none.

    Official files before generated ones, all training examples before some
    of them, many seeds before few, then the newest.
    """
    return max(results, key=_preference, default=None)


def closest(results, reference):
    """Return the `Result` that differs least from a reference, or None.

    Args:
        results: iterable of `Result`.
        reference: `Result` or None; without one the preferred is returned.
    """
    if reference is None:
        return preferred(results)
    return max(
        results,
        key=lambda result: (
            -len(differences(reference.run, result.run)),
            *_preference(result),
        ),
        default=None,
    )


def _of_one_task(found):
    """Return the `Bindings` without those that say what else is run."""
    parameters = {
        name: value
        for name, value in found.parameters.items()
        if not name.startswith(_GIVING_FUNCTIONS) and name not in _GIVEN
    }
    return dataclasses.replace(found, parameters=parameters)


def _preference(result):
    newest = max(run.modified for run in result.runs)
    return (
        result.run.is_sample is False,
        result.run.macro("NUM_TRAIN_EXAMPLES") is None,
        len(result.seeds),
        newest,
    )


def _setting(run: workdirs.Run):
    """A key that is equal for runs of one setting."""
    if run.bindings is None:
        return run.path
    recipe = [
        (name, text)
        for name, text in run.bindings.recipe().items()
        if name.rpartition(".")[2] not in _SEED_PARAMETERS
    ]
    facts = (run.kind, run.task, run.result.get("split"), run.row)
    return (*facts, run.backbone, *recipe)
