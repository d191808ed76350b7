"""Presets: finding, loading and saving them, and the models inside."""

import dataclasses
import errno
import functools
import json
import os
import pathlib
import shutil

import keras
import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.evaluation import scoring as scoring_lib
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.models import transfer
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_SHIPPED = "presets/gpt1_mini_novels_en"
_ROOM_BESIDE_WEIGHTS = 4_000_000  # bytes: vocabulary, overhead of HDF5


def find(preset):
    """Return the path of a preset folder.

    Args:
        preset: path of a finished run's workdir or of the `preset/` folder in
            it; None for the language model shipped with the program. This is
            what every run takes as `preset`.

    Raises:
        InputError: there is no such preset.
    """
    if preset is None:
        places = (_PACKAGE.parent / _SHIPPED, _PACKAGE / _SHIPPED)
        directory = next((p for p in places if p.exists()), None)
        if directory is None:
            raise errors.InputError(
                f"`preset` is not given and {_SHIPPED} does not exist: give"
                " the workdir of a pretraining run"
            )
        logging.info("`preset` is not given: using %s", directory)
        return directory
    checks.check("preset", preset, checks.Path)
    directory = pathlib.Path(preset)
    if (directory / "preset" / "config.json").exists():
        directory = directory / "preset"
    if not directory.exists():
        raise errors.InputError(
            f"`preset`: {directory} does not exist; give the workdir of a"
            " finished run"
        )
    if not (directory / "config.json").exists():
        raise errors.InputError(
            f"`preset`: {directory} has no preset/ folder and no config.json;"
            " give the workdir of a finished run or its preset/ folder"
        )
    return directory


def find_best(preset):
    """Return the path of a preset folder; of several seeds the best on dev.

    Args:
        preset: as `find` takes it, but not None.
    """
    if preset is None:
        raise errors.InputError(
            "`preset` is not given: give the workdir of a fine-tuning run"
        )
    checks.check("preset", preset, checks.Path)
    seeds = (results.read(preset) or {}).get("seeds")
    if not seeds:
        return find(preset)
    best = max(seeds, key=lambda seed: next(iter(seeds[seed].values())))
    logging.info(
        "%s: the best of %d seeds on dev is %s", preset, len(seeds), best
    )
    return find(pathlib.Path(preset) / f"seed_{best}")


def load(cls, directory, *, dtype="float32"):
    """Return `cls.from_preset(directory)` under a dtype policy.

    Raises:
        InputError: it is not a preset of that class, or damaged.
    """
    try:
        policy = keras.config.dtype_policy()
        keras.config.set_dtype_policy(dtype)
        try:
            return cls.from_preset(str(directory))
        finally:
            keras.config.set_dtype_policy(policy)
    except (ValueError, TypeError, KeyError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise errors.InputError(
            f"`preset`: {directory} cannot be read ({reason}); give the"
            " workdir of a finished run, or run it again"
        ) from None


def backbone_config(directory):
    """Return the arguments of a preset's backbone, a dict."""
    path = directory / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))["config"]
    except (ValueError, KeyError, TypeError):
        raise errors.InputError(
            f"`preset`: {path} does not describe a backbone; give the preset/"
            " folder of a finished run"
        ) from None


def has_head(directory):
    """Return whether a preset is of a fine-tuned model."""
    path = pathlib.Path(directory) / "task.json"
    if not path.exists():
        return False
    config = json.loads(path.read_text(encoding="utf-8"))
    return config["config"].get("head") is not None


def load_tokenizer(directory):
    """Return the `text.tokenizer.Tokenizer` of a preset.

    Raises:
        InputError: there is none, or it does not match the network.
    """
    tokenizer = load(tokenizer_lib.GPT1Tokenizer, directory).pipeline
    expected = backbone_config(directory).get("vocabulary_size")
    if tokenizer.vocabulary_size != expected:
        raise errors.InputError(
            f"`preset`: {directory} has a tokenizer of"
            f" {tokenizer.vocabulary_size} tokens and a network of {expected};"
            " give a preset whose files belong together"
        )
    return tokenizer


def is_newer(directory, path):
    """Return whether a preset has changed since `path` was written."""
    return path.exists() and any(
        file.stat().st_mtime > path.stat().st_mtime
        for file in pathlib.Path(directory).iterdir()
    )


def save(model, directory):
    """Replace the preset in `directory` by that of `model`, as a whole.

    Weights are float32, and so are the dtype policies in the files, whatever
    dtype the model computed in.

    Raises:
        OSError: it cannot be written, as on a full disk; `directory` is
            unchanged.
    """
    directory = pathlib.Path(directory)
    temporary = directory.with_name(f".{directory.name}.tmp")
    old = directory.with_name(f".{directory.name}.old")
    shutil.rmtree(temporary, ignore_errors=True)
    directory.parent.mkdir(parents=True, exist_ok=True)
    # On a full disk h5py may crash.
    needed = 4 * model.count_params() + _ROOM_BESIDE_WEIGHTS
    if shutil.disk_usage(directory.parent).free < needed:
        raise OSError(
            errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory.parent)
        )
    try:
        model.save_to_preset(str(temporary))
        for path in temporary.glob("*.json"):
            config = _as_float32(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(json.dumps(config, indent=4), encoding="utf-8")
        files.make_readable(temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    temporary.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _as_float32(config):
    """Replace dtype policies: KerasHub cannot load a mixed one."""
    if isinstance(config, list):
        return [_as_float32(each) for each in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy":
        return config | {"config": {"name": "float32"}}
    return {name: _as_float32(each) for name, each in config.items()}


@checks.value_object
class Pretrained:
    """A preset from which fine-tuning starts.

    Attributes:
        preset: see `find`.
        num_transferred_layers: see `models.transfer`.
        dropout: float. Rate of embedding, attention and residual dropout,
            instead of that of pretraining.
    """

    preset: checks.Path | None
    num_transferred_layers: checks.NumTransferredLayers
    dropout: checks.Rate

    def changed(self, **values):
        """Return a copy with other attributes."""
        return dataclasses.replace(self, **values)

    @functools.cached_property
    def directory(self):
        """The path of the preset folder."""
        return find(self.preset)

    def tokenizer(self):
        """Return the `text.tokenizer.Tokenizer` of the preset."""
        return load_tokenizer(self.directory)

    def num_positions(self):
        """Return the preset's `max_sequence_length`."""
        return backbone_config(self.directory)["max_sequence_length"]

    def backbone(self):
        """Return a new backbone with special rows and transferred weights.

        It has the global dtype policy; weights that are not transferred are
        drawn from the global seed.
        """
        source = load(backbone_lib.GPT1Backbone, self.directory)
        rates = {
            name: self.dropout
            for name in source.get_config()
            if name.endswith("_dropout")
        }
        return transfer.transferred_backbone(
            source,
            num_transferred_layers=self.num_transferred_layers,
            num_special_tokens=3,
            **rates,
        )


@checks.value_object
class Scoring:
    """How a fine-tuned model scores examples.

    Attributes:
        batch_size: int. Examples per forward pass.
        bucket_lengths: ints. Lengths that batches are padded to.
        dtype: str, Keras dtype policy.
    """

    batch_size: checks.NotRecipe[checks.Count] = 32
    bucket_lengths: checks.NotRecipe[checks.Counts] = (
        example_batches.BUCKET_LENGTHS
    )
    dtype: checks.Dtype = "float32"


class FineTuned:
    """A fine-tuned model that scores examples.

    Args:
        preset: see `find_best`.
        scoring: `Scoring`.

    Attributes:
        network: the `GPT1TaskModel`.
        preprocessor: its `GPT1TaskPreprocessor`: task, labels, tokenizer.
        directory: path of the preset folder.
    """

    def __init__(self, preset, scoring):
        fit.set_dtype(scoring.dtype)
        self.directory = find_best(preset)
        self._scoring = scoring
        self.network = load(
            task_model.GPT1TaskModel, self.directory, dtype=scoring.dtype
        )
        if self.network.head is None:
            raise errors.InputError(
                f"`preset`: {self.directory} has no head: it is pretrained and"
                " not fine-tuned; give the workdir of a fine-tuning run"
            )
        self.preprocessor = self.network.preprocessor
        self._learner = learner_lib.Learner(self.network)

    def labelled(self, task, examples, split):
        """Return `scoring.Labelled` examples, whether labelled or not.

        Raises:
            InputError: the model is of another kind of task.
        """
        ours, space = self.preprocessor, task.label_space
        expected = _kind(ours.transform, ours.label_words, ours.score_range)
        found = _kind(
            task.transform.__name__, space.class_names, space.score_range
        )
        if found != expected:
            raise errors.InputError(
                f"`preset`: {self.directory} was fine-tuned on {ours.task}"
                f" ({expected}), but {task.name} is {found}; give a model of"
                f" {task.name}"
            )
        return scoring_lib.Labelled(
            task,
            examples,
            tokenizer=ours.tokenizer.pipeline,
            max_sequence_length=ours.sequence_length,
            batch_size=self._scoring.batch_size,
            bucket_lengths=self._scoring.bucket_lengths,
            name=f"{task.name} {split}",
        )

    def logits(self, examples):
        """Return logits `[N, Y]` of `scoring.Labelled` examples.

        Raises:
            Stopped: on SIGTERM or Ctrl-C.
        """
        with fit.catch_signals() as stop:
            return np.asarray(examples.logits(self._learner, stop))


def _kind(transform, class_names, score_range):
    """Describe what a model and its task must have in common."""
    kind = transform.replace("_", " ")
    if score_range is not None:
        return f"{kind} with a score"
    return (
        f"{kind} with labels {', '.join(class_names)}" if class_names else kind
    )
