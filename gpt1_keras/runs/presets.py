"""KerasHub presets in folders: found, read, and replaced as a whole."""

import errno
import json
import os
import pathlib
import shutil

import keras
from absl import logging

from gpt1_keras import dials
from gpt1_keras import errors
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.runs import result

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
        dials.check_text("PRESET", preset)
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
    dials.check_text("PRESET", workdir)
    seeds = (result.read(workdir) or {}).get("seeds")
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
