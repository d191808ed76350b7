"""KerasHub presets in folders: found, read, and replaced as a whole."""

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
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.evaluation import scoring as scoring_lib
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.models import transfer
from gpt1_keras.training import fit
from gpt1_keras.training import learner as learner_lib

# -----------------------------------------------------------------------------
# KerasHub presets in folders: found, read, and replaced as a whole.

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_SHIPPED = "presets/gpt1_mini_novels_en"
_ROOM_BESIDE_WEIGHTS = 4_000_000  # bytes: vocabulary, what h5py adds


def find(preset):
    """Return the path of a local preset; None names the one shipped.

    Raises:
        InputError: there is no preset of this program.
    """
    if preset is None:
        places = (_PACKAGE.parent / _SHIPPED, _PACKAGE / _SHIPPED)
        directory = next((p for p in places if p.exists()), places[0])
        logging.info("no PRESET is given: using %s", directory)
    else:
        checks.check("preset", preset, checks.Path)
        directory = pathlib.Path(preset)
        if (directory / "preset" / "config.json").exists():
            directory = directory / "preset"
    if preset is None and not directory.exists():
        raise errors.InputError(
            f"no PRESET is given and {_SHIPPED} is not there: add --set "
            "\"PRESET = 'out/mini'\", the workdir of a pretraining run"
        )
    if not directory.exists():
        raise errors.InputError(
            f"PRESET {directory} does not exist: give the workdir of a "
            "finished run"
        )
    if not (directory / "config.json").exists():
        raise errors.InputError(
            f"PRESET {directory} has no config.json: give the preset/ folder "
            "of a finished run"
        )
    return directory


def find_best(workdir):
    """Return the preset of a run; of several seeds the best on dev.

    Args:
        workdir: path of a run's workdir, or of a preset.
    """
    if workdir is None:
        raise errors.InputError(
            "no PRESET is given: name the workdir of a fine-tuning run"
        )
    checks.check("preset", workdir, checks.Path)
    seeds = (results.read(workdir) or {}).get("seeds")
    if not seeds:
        return find(workdir)
    best = max(seeds, key=lambda seed: next(iter(seeds[seed].values())))
    logging.info(
        "%s: of %d seeds the best on dev is %s", workdir, *(len(seeds), best)
    )
    return find(pathlib.Path(workdir) / f"seed_{best}")


def load(cls, directory, *, dtype="float32"):
    """Return `cls.from_preset(directory)` under a dtype policy.

    Raises:
        InputError: it is not such a preset, or damaged.
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
            f"PRESET {directory} cannot be read ({reason}): give the "
            "workdir of a finished run, or make it again"
        ) from None


def backbone_config(directory):
    """Return the arguments of a preset's backbone, a dict."""
    path = directory / "config.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))["config"]
    except (ValueError, KeyError, TypeError):
        raise errors.InputError(
            f"PRESET {directory}: {path.name} is no backbone's; give the "
            "preset/ folder of a finished run"
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
        InputError: there is none, or it is not that of the network.
    """
    tokenizer = load(tokenizer_lib.GPT1Tokenizer, directory).pipeline
    num_words = backbone_config(directory).get("vocabulary_size")
    if tokenizer.vocabulary_size != num_words:
        raise errors.InputError(
            f"{directory}: its tokenizer has {tokenizer.vocabulary_size} "
            f"words, its network {num_words}: give a preset whose files "
            "belong together"
        )
    return tokenizer


def is_newer(directory, path):
    """Return whether a preset has changed since `path` was written."""
    return path.exists() and any(
        file.stat().st_mtime > path.stat().st_mtime
        for file in pathlib.Path(directory).iterdir()
    )


def save(model, directory):
    """Write `model` as a preset, in place of what was there.

    Its weights are float32, and so it says, whatever it computed in.

    Raises:
        OSError: it cannot be written, as on a full disk; what was there
            stays, and nothing else.
    """
    directory = pathlib.Path(directory)
    temporary = directory.with_name(f".{directory.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    _check_space(model, directory.parent)
    try:
        model.save_to_preset(str(temporary))
        for path in temporary.glob("*.json"):
            config = _as_float32(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(json.dumps(config, indent=4), encoding="utf-8")
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    old = directory.with_name(f".{directory.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if directory.exists():
        directory.rename(old)
    temporary.rename(directory)
    shutil.rmtree(old, ignore_errors=True)


def _check_space(model, parent):
    """Raise OSError on a full disk: h5py may crash when it finds out."""
    parent.mkdir(parents=True, exist_ok=True)
    needed = 4 * model.count_params() + _ROOM_BESIDE_WEIGHTS
    if shutil.disk_usage(parent).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(parent))


def _as_float32(config):
    """KerasHub cannot read presets that name a mixed policy."""
    if isinstance(config, list):
        return [_as_float32(each) for each in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy":
        return config | {"config": {"name": "float32"}}
    return {name: _as_float32(each) for name, each in config.items()}


# -----------------------------------------------------------------------------
# The preset that fine-tuning, probing and generation begin with.


@checks.value_object
class Pretrained:
    """A KerasHub preset of a backbone and its tokenizer.

    Attributes:
        preset: path of the preset, as a pretraining run leaves it in
            `preset/`, or None for the model that comes with the program.
        num_transferred_layers: see `models.transfer`.
        dropout: float. Rate of embedding, attention and residual dropout, in
            place of the one in pretraining.
    """

    preset: checks.Path | None
    num_transferred_layers: checks.NumTransferredLayers
    dropout: checks.Rate

    def changed(self, **values):
        """Return the same with other `values` of the arguments."""
        return dataclasses.replace(self, **values)

    @functools.cached_property
    def directory(self):
        """The path of the preset; there is one."""
        return find(self.preset)

    def tokenizer(self):
        """Return the `text.tokenizer.Tokenizer` of the preset."""
        return load_tokenizer(self.directory)

    def num_positions(self):
        """Return the longest sequence that the preset reads."""
        return backbone_config(self.directory)["max_sequence_length"]

    def backbone(self):
        """Return a new backbone with special rows and the weights asked for.

        Built under the global dtype policy; what the preset does not give is
        drawn from the global seed.
        """
        source = load(backbone_lib.GPT1Backbone, self.directory)
        rates = {
            name: self.dropout
            for name in source.get_config()
            if name.endswith("_dropout")
        }
        backbone = transfer.transferred_backbone(
            source,
            num_transferred_layers=self.num_transferred_layers,
            num_special_tokens=3,
            **rates,
        )
        del source
        return backbone


# -----------------------------------------------------------------------------
# A fine-tuned model from its preset, to score examples with.


@checks.value_object
class Scoring:
    """How examples are scored.

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
    """The network of a fine-tuning run and what it knows of its task.

    Args:
        preset: path of the run's workdir or of its `preset/`.
        scoring: `Scoring`.

    Attributes:
        network: the `GPT1TaskModel`.
        preprocessor: its `GPT1TaskPreprocessor`: task, words, tokenizer.
        directory: path of the preset.
    """

    def __init__(self, preset, scoring):
        fit.set_dtype(scoring.dtype)
        self.directory = find_best(preset)
        self._scoring = scoring
        network = load(
            task_model.GPT1TaskModel, self.directory, dtype=scoring.dtype
        )
        if network.head is None:
            raise errors.InputError(
                f"PRESET {self.directory} has no head: it is pretrained, not "
                "fine-tuned; give the workdir of a fine-tuning run"
            )
        self.network = network
        self.preprocessor = network.preprocessor
        self._learner = learner_lib.Learner(network)

    def labelled(self, task, examples, split):
        """Return `scoring.Labelled` examples, labels known or not.

        Raises:
            InputError: the model is of another kind of task.
        """
        ours = self.preprocessor
        was = _kind(ours.transform, ours.label_words, ours.score_range)
        space = task.label_space
        wanted = _kind(
            task.transform.__name__, space.class_names, space.score_range
        )
        if was != wanted:
            raise errors.InputError(
                f"PRESET {self.directory} was fine-tuned on {ours.task} "
                f"({was}), but {task.name} is {wanted}: give a model of it"
            )
        return scoring_lib.Labelled(
            task,
            examples,
            tokenizer=self.preprocessor.tokenizer.pipeline,
            max_sequence_length=self.preprocessor.sequence_length,
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


def _kind(transform, words, score_range):
    """Return in words what a model must have in common with its task."""
    kind = transform.replace("_", " ")
    if score_range is not None:
        return f"{kind} with a score"
    return f"{kind} with labels {', '.join(words)}" if words else kind
