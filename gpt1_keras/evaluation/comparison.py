"""Results that may be compared: over seeds, and between settings."""

import dataclasses
import functools
import os
import pathlib
import re
import statistics
import tokenize

from gpt1_keras import config as config_lib
from gpt1_keras import errors
from gpt1_keras import results as results_lib

# -----------------------------------------------------------------------------
# Workdirs of runs, known by their files alone: no model is loaded.

_RESULT = "result.json"
_METRICS = "metrics.jsonl"
_OBJECTS = ("metrics", "seeds", "train_metrics", "majority", "paper")
# Folders inside a workdir that hold no workdirs.
_INSIDE = {"checkpoints", "preset", "plots", "tensorboard", "saved_model"}
# A seed of a task of a row of a grid: its config.gin lies three folders above.
_LEVELS = 4
# Runs whose macros say how each of their results was fine-tuned.
_FINE_TUNING = ("finetune.finetune", "suite.suite")


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """One workdir.

    Attributes:
        path: pathlib.Path, as it was found.
        result: dict of `result.json`; empty while the run is not finished.
        bindings: `config.Bindings` of its `config.gin`, None if there is
            none that belongs to the result.
        config: pathlib.Path of that file, or None.
    """

    path: pathlib.Path
    result: dict
    bindings: config_lib.Bindings | None
    config: pathlib.Path | None

    @property
    def kind(self):
        """The verb, such as "finetune"; None if no file says it."""
        if "run" in self.result:
            return self.result["run"]
        return self._function.rpartition(".")[2] or None

    @property
    def task(self):
        """Name of the task, None if no file says it."""
        return self.result.get("task") or self.macro("TASK")

    @property
    def is_sample(self):
        """Whether the data were generated; None if no file says it."""
        if self.bindings is None or "DATA_DIR" not in self.bindings.macros:
            return None
        return self.macro("DATA_DIR") is None

    @property
    def lm_loss_weight(self):
        """Weight of the auxiliary objective; None if no file says it."""
        return self._fine_tuning("lm_loss_weight")

    @property
    def num_transferred_layers(self):
        """Layers taken from the pretrained network: -1 nothing, None all."""
        number = self._fine_tuning("num_transferred_layers")
        return None if number == self.num_layers else number

    @property
    def backbone(self):
        """ "transformer" or "lstm"; None if no file says it."""
        name = self.result.get("backbone") or self._preset.get("class_name")
        name = name or self.macro("BUILD_BACKBONE")
        if name is None:
            return None
        return "lstm" if "lstm" in str(name).lower() else "transformer"

    @property
    def num_layers(self):
        """Layers of the network; None if no file says it."""
        if self.backbone == "lstm":
            return 1
        found = self._preset.get("config", {}).get("num_layers")
        return self.macro("NUM_LAYERS") if found is None else found

    @property
    def row(self):
        """Row of the ablation (table 5), None if no file says it.

        "full", or what is missing: "no_auxiliary_lm", "no_pretraining",
        "lstm", "transferred_3", or several joined by " + ".
        """
        if self.backbone is None or self.lm_loss_weight is None:
            return None
        layers = self.num_transferred_layers
        names = ["lstm"] if self.backbone == "lstm" else []
        if layers == -1:
            names.append("no_pretraining")
        elif layers is not None:
            names.append(f"transferred_{layers}")
        if self.lm_loss_weight == 0:
            names.append("no_auxiliary_lm")
        return " + ".join(names) or "full"

    @property
    def seeds(self):
        """Return {seed: metrics} of the result."""
        if "seeds" in self.result:
            return self.result["seeds"]
        if "metrics" not in self.result:
            return {}
        return {str(self.result.get("seed")): self.result["metrics"]}

    @property
    def modified(self):
        """When the result was written, in seconds."""
        path = self.path / (_RESULT if self.result else _METRICS)
        return path.stat().st_mtime

    def macro(self, name):
        """Return the value of a macro in `config.gin`, None without one."""
        return self.bindings and self.bindings.dial(name)

    def seed_folder(self, seed):
        """Return the folder of a seed's own files."""
        return (
            self.path / f"seed_{seed}" if "seeds" in self.result else self.path
        )

    def training_metrics(self, seed):
        """Return the metrics on training examples, {} without any."""
        path = self.seed_folder(seed) / _RESULT
        found = results_lib.read_json(path) if path.exists() else self.result
        return found.get("train_metrics", {})

    def lines(self, seed=None):
        """Return the objects of `metrics.jsonl`, of a seed where given."""
        return results_lib.read_json_lines(self.seed_folder(seed) / _METRICS)

    @property
    def _function(self):
        reference = self.macro("RUN")
        return reference.name if reference is not None else ""

    def _fine_tuning(self, name):
        """A fact of fine-tuning: from the result, else from the macros."""
        if name in self.result:
            return self.result[name]
        if self._function not in _FINE_TUNING:
            return None
        return self.macro(name.upper())

    @functools.cached_property
    def _preset(self):
        """`config.json` of the network, or of the one it began with."""
        own = [self.seed_folder(seed) for seed in self.seeds] or [self.path]
        source = self.result.get("preset") or self.macro("PRESET")
        places = [folder / "preset" for folder in own]
        if isinstance(source, str):
            places += [pathlib.Path(source), pathlib.Path(source) / "preset"]
        for place in places:
            if (place / "config.json").is_file():
                return results_lib.read_json(place / "config.json")
        return {}


def find_runs(folders):
    """Return the `Run`s in or below some folders, in the order of their paths.

    A workdir has a `result.json`, or a `metrics.jsonl` alone while it is not
    finished. The `seed_N/` below an aggregate belong to it.

    Args:
        folders: iterable of paths.

    Raises:
        InputError: a folder is missing, or a file in it is damaged.
    """
    runs, seen = [], set()
    for folder in map(pathlib.Path, folders):
        if not folder.expanduser().is_dir():
            raise errors.InputError(
                f"RESULTS: {folder} is not a folder: give the workdir of a run,"
                " or a folder that holds some"
            )
        for directory, names, there in os.walk(folder.expanduser()):
            names[:] = sorted(
                name
                for name in names
                if name not in _INSIDE and not name.startswith(".")
            )
            path = pathlib.Path(directory)
            if not {_RESULT, _METRICS} & set(there) or path.resolve() in seen:
                continue
            seen.add(path.resolve())
            runs.append(_read(path))
            if "seeds" in runs[-1].result:
                names[:] = [n for n in names if not n.startswith("seed_")]
    return runs


def _read(path):
    result = {}
    if (path / _RESULT).exists():
        result = results_lib.read_json(path / _RESULT)
        results_lib.check_objects(path / _RESULT, result, _OBJECTS)
    config = _find_config(path, result.get("config_sha256"))
    if config is None:
        return Run(path, result, None, None)
    try:
        found = config_lib.read_bindings(config.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, tokenize.TokenError):
        raise errors.InputError(
            f"{config}: is not gin any more; remove it or take its folder out"
            " of RESULTS"
        ) from None
    return Run(path, result, found, config)


def _find_config(path, sha256):
    """Return the nearest `config.gin` above that the result was made with."""
    real = path.resolve()
    shown = [path, *path.parents]
    for i, folder in enumerate((real, *real.parents)[:_LEVELS]):
        if i < len(shown) and shown[i].resolve() == folder:
            folder = shown[i]
        config = folder / "config.gin"
        if not config.is_file():
            continue
        text = config.read_text(encoding="utf-8", errors="replace")
        noted = re.search(r"^# config_sha256: (\w+)$", text, re.MULTILINE)
        if sha256 is None or (noted and noted[1] == sha256):
            return config
    return None


# -----------------------------------------------------------------------------
# Results that may be compared: over seeds, and between settings.

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
        runs: tuple of `comparison.Run` that have the setting.
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
        runs: iterable of `comparison.Run`; those without metrics are left out.

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
        one, other: `comparison.Run`; without a `config.gin` nothing is known.
    """
    if one.bindings is None or other.bindings is None:
        return []
    expected = _COMPARED
    if one.backbone != other.backbone:
        expected = expected | {"PRESET"}
    found = setting_names(one.bindings, other.bindings)
    return [name for name in found if name not in expected]


def setting_names(one, other):
    """Return the names of what differs in two `config.Bindings`.

    Without what says which task is run, and what else in a suite or a grid.
    """
    found = config_lib.differences(_of_one_task(one), _of_one_task(other))
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


def _setting(run: Run):
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
