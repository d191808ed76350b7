"""Runs read from the files of their workdirs, and how their settings differ."""

import dataclasses
import os
import pathlib
import statistics

from gpt1_keras import bindings as bindings_lib
from gpt1_keras import errors
from gpt1_keras import results as results_lib
from gpt1_keras import workdir

# Folders inside a workdir that hold no workdirs.
_INSIDE = {"checkpoints", "preset", "plots", "tensorboard", "saved_model"}
# Folders to search: `seed_1/` of a task of a grid's row is three folders below
# the grid's config.gin.
_LEVELS = 4


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A workdir, or several with the same settings, described by the first one.

    Facts that no file states are None.
    """

    path: pathlib.Path
    result: dict  # of `result.json`; empty for an unfinished run
    # From its `config.gin`; None if there is none that belongs to the result.
    bindings: bindings_lib.Bindings | None = None
    lines: list = dataclasses.field(default_factory=list)  # `metrics.jsonl`
    # {seed: `Run`} of the seeds with metrics: the run itself, or one for each
    # `seed_N/`, whose path is that of the workdir above.
    seeds: dict = dataclasses.field(default_factory=dict)
    paths: list = dataclasses.field(default_factory=list)  # of all workdirs

    @property
    def kind(self):
        """The name of the run, such as "finetune"."""
        started = self.bindings and self.bindings.run
        return self.result.get("run", started and started.name.split(".")[-1])

    @property
    def task(self):
        name = "benchmarks.benchmark.name"
        bound = self.bindings.values_of(name) if self.bindings else []
        return self.result.get("task") or next(iter(bound), "")

    @property
    def data(self):
        """The data: "official", "sample" (generated) or "" (unknown)."""
        if self.bindings is None or "DATA_DIR" not in self.bindings.macros:
            return ""
        return "sample" if self.macro("DATA_DIR") is None else "official"

    @property
    def backbone(self):
        """The kind of network: "transformer" or "lstm"."""
        name = self.result.get("backbone")
        return name and ("lstm" if "lstm" in name.lower() else "transformer")

    @property
    def row(self):
        """The row of table 5: "full", or what differs.

        One or more of "lstm", "no_pretraining", "transferred_3" and
        "no_auxiliary_lm", joined by " + ".
        """
        weight = self.result.get("lm_loss_weight")
        if self.backbone is None or weight is None:
            return None
        layers = self.result.get("num_transferred_layers")
        names = ["lstm"] if self.backbone == "lstm" else []
        if layers == -1:
            names.append("no_pretraining")
        elif layers not in (None, self.result.get("num_layers")):
            names.append(f"transferred_{layers}")
        if weight == 0:
            names.append("no_auxiliary_lm")
        return " + ".join(names) or "full"

    def metrics(self, split="dev"):
        """Return the metrics of a split as shares in 0..1, {} if it has none.

        "dev" is the split of the result; "train" and "test" need not be there.
        """
        found = self.result.get("test", {}) if split == "test" else self.result
        name = "train_metrics" if split == "train" else "metrics"
        return found.get(name) or {}

    @property
    def metric_names(self):
        """The names of the metrics of all seeds, the paper's metric first."""
        names = [name for run in self.seeds.values() for name in run.metrics()]
        return list(dict.fromkeys(names))

    @property
    def metric(self):
        """The name of the paper's metric; None if the run has no metrics."""
        return next(iter(self.metric_names), None)

    def values(self, metric, split="dev"):
        """Return a metric of each seed that has it; see `metrics`."""
        found = [run.metrics(split).get(metric) for run in self.seeds.values()]
        return [value for value in found if value is not None]

    def middle(self, metric, of=statistics.median):
        """Return the median (or mean) over seeds, None without any value."""
        values = self.values(metric)
        return of(values) if values else None

    def macro(self, name, kind=object):
        """Return a macro's value in `config.gin`, None if of another type."""
        found = self.bindings
        value = found and found.value(found.macros.get(name))
        return value if isinstance(value, kind) else None


def read(path):
    """Return the `Run` of a workdir; a damaged file raises InputError."""
    result = results_lib.read(path) or {}
    result = {k: v for k, v in result.items() if v is not None}
    bindings = _read_config(path, result.get("config_sha256"))
    lines = results_lib.read_metrics(path / results_lib.METRICS)
    found = Run(path, result, bindings, lines, paths=[path])
    for seed, metrics in result.get("seeds", {}).items():
        own = dataclasses.replace(read(path / f"seed_{seed}"), path=path)
        own.result["metrics"] = metrics
        if metrics:
            found.seeds[seed] = own
    if found.metrics() and not result.get("seeds"):
        found.seeds[str(result.get("seed"))] = found
    return found


def find(folders):
    """Find the runs in or below some folders, in the order of their paths.

    The folders `seed_N/` below a run of several seeds belong to it. Returns the
    `Run`s, and (path, what is wrong) for each workdir that cannot be read.
    """
    runs, unreadable, seen = [], [], set()
    for folder in (pathlib.Path(each).expanduser() for each in folders):
        if not folder.is_dir():
            raise errors.InputError(
                f"`results`: {folder} is not a folder: give the workdir of a"
                " run, or a folder that holds some"
            )
        for directory, names, there in os.walk(folder, followlinks=True):
            names[:] = sorted(n for n in {*names} - _INSIDE if n[0] != ".")
            path = pathlib.Path(directory)
            if (place := path.resolve()) in seen:  # Links can lead in circles.
                names.clear()
                continue
            seen.add(place)
            if not {"result.json", results_lib.METRICS} & set(there):
                continue
            try:
                runs.append(read(path))
            except errors.InputError as error:
                unreadable.append((path, str(error)))
                continue
            if runs[-1].result.get("seeds"):
                names[:] = [n for n in names if not n.startswith("seed_")]
    return runs, unreadable


def _read_config(path, sha256):
    """Return the bindings of the nearest `config.gin` with a hash, or None."""
    path = path.resolve()
    for folder in (path, *path.parents)[:_LEVELS]:
        if not (folder / workdir.CONFIG).is_file():
            continue
        try:
            found, noted = workdir.read(folder)
        except (ValueError, OSError):
            raise errors.InputError(
                f"{folder / workdir.CONFIG} is not valid gin: remove it"
            ) from None
        if sha256 in (None, noted):
            return found
    return None


# What may differ between rows of table 5.
_COMPARED = {"RUN", "SEED", "SEEDS"}
_COMPARED |= {"LM_LOSS_WEIGHT", "NUM_TRANSFERRED_LAYERS"}


def join_seeds(runs):
    """Join runs that differ only in the seed; omit those without metrics.

    If a seed was run twice, the first run counts.
    """
    joined = {}
    for run in runs:
        if run.seeds:
            new = dataclasses.replace(run, seeds={}, paths=[])
            whole = joined.setdefault(_setting(run), new)
            whole.seeds.update(run.seeds | whole.seeds)
            whole.paths.append(run.path)
    return list(joined.values())


def differences(one, other):
    """Return {setting: value in `other`} where two `Run`s differ.

    Omits settings that an ablation varies and, if the networks are of different
    kinds, the preset. Empty if either run has no `config.gin`.
    """
    if one.bindings is None or other.bindings is None:
        return {}
    is_same_kind = one.backbone == other.backbone
    expected = _COMPARED if is_same_kind else _COMPARED | {"PRESET"}
    sides = map(_of_one_task, (one.bindings, other.bindings))
    return {
        name: value
        for name, _, value in bindings_lib.differences(*sides, with_paths=True)
        if name not in expected
    }


def preferred(runs, reference=None):
    """Return the `Run` that differs least from `reference`, if given.

    Among equals: official files before generated ones, all training examples
    before some of them, many seeds before few, then the newest.
    """

    def key(run):
        return (
            -len(differences(reference, run)) if reference else 0,
            run.data == "official",
            run.macro("NUM_TRAIN_EXAMPLES") is None,
            len(run.seeds),
            max(results_lib.path(path).stat().st_mtime for path in run.paths),
        )

    return max(runs, key=key)


def _of_one_task(found):
    """Return `Bindings` of one fine-tuning run, the same for all benchmarks."""
    parameters, macros = dict(found.parameters), dict(found.macros)
    if found.run is not None and found.run.name == "grid.grid":
        macros["RUN"] = bindings_lib.Reference("finetune.finetune", False)
        parameters["finetune.finetune.data"] = parameters.get("grid.grid.data")
    benchmark, task = "benchmarks.benchmark", "finetune.finetune.task"
    functions = bindings_lib.references(parameters.get(task))
    if all(each.function == benchmark for each in functions):
        parameters[task] = bindings_lib.Reference(benchmark, True)
        parameters.pop(f"{benchmark}.name", None)
    return dataclasses.replace(found, parameters=parameters, macros=macros)


def _setting(run):
    """Return a key that is equal for runs with the same settings."""
    if run.bindings is None:
        return run.path
    recipe = [
        (name, text)
        for name, text in run.bindings.recipe(with_paths=True).items()
        if name.rpartition(".")[2] not in ("seed", "seeds")
    ]
    # The recipe names files, whose rows may have changed.
    facts = ("split", "num_layers", "num_train_examples", "num_examples")
    values = map(run.result.get, facts)
    return (run.kind, run.task, run.row, run.backbone, *values, *recipe)
