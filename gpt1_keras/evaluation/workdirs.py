"""Workdirs of runs, known by their files alone: no model is loaded.

Reads `result.json`, `metrics.jsonl`, `config.gin` and the `config.json` of a
preset; writes nothing.
"""

import dataclasses
import functools
import os
import pathlib
import re
import tokenize

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras.evaluation import json_files

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
        bindings: `bindings.Bindings` of its `config.gin`, None if there is
            none that belongs to the result.
        config: pathlib.Path of that file, or None.
    """

    path: pathlib.Path
    result: dict
    bindings: bindings.Bindings | None
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
        return self.bindings and self.bindings.macros.get(name)

    def seed_folder(self, seed):
        """Return the folder of a seed's own files."""
        return (
            self.path / f"seed_{seed}" if "seeds" in self.result else self.path
        )

    def training_metrics(self, seed):
        """Return the metrics on training examples, {} without any."""
        path = self.seed_folder(seed) / _RESULT
        found = json_files.read(path) if path.exists() else self.result
        return found.get("train_metrics", {})

    def lines(self, seed=None):
        """Return the objects of `metrics.jsonl`, of a seed where given."""
        return json_files.read_lines(self.seed_folder(seed) / _METRICS)

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
                return json_files.read(place / "config.json")
        return {}


def find(folders):
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
        result = json_files.read(path / _RESULT)
        json_files.check_objects(path / _RESULT, result, _OBJECTS)
    config = _find_config(path, result.get("config_sha256"))
    if config is None:
        return Run(path, result, None, None)
    try:
        found = bindings.read(config.read_text(encoding="utf-8"))
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
