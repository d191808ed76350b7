"""Find, check, load and save presets: folders that `from_preset` reads.

Those that this program writes also hold `checksums.json`: the SHA-256 of every
file, and the step and the metrics of the weights. It is written last and
checked whenever a run loads the preset.
"""

import dataclasses
import errno
import functools
import gc
import json
import math
import os
import pathlib
import shutil
import typing

import h5py
import keras
import numpy as np
from absl import logging
from keras import ops

from gpt1_keras import bindings
from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import precision
from gpt1_keras import results
from gpt1_keras.data import example_batches
from gpt1_keras.data import transforms
from gpt1_keras.evaluation import scoring as scoring_lib
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import builders
from gpt1_keras.models import preprocessors
from gpt1_keras.models import shared_prefix
from gpt1_keras.models import task_model
from gpt1_keras.text import tokenizer as text_tokenizer
from gpt1_keras.training import checkpoints as checkpoints_lib
from gpt1_keras.training import learner as learner_lib

# A small set of single texts needs some dropout; pairs are better without
# (RESULTS.md, "Few rows").
_DROPOUT = 0.05
_EXTEND = 'to train longer, raise steps or epochs with "EXTEND = True", or'
_ROOM_BESIDE_WEIGHTS = 4_000_000  # bytes: vocabulary, overhead of HDF5
# Entries of a configuration in which a preset's files may differ.
_UNCOMPARED = dict.fromkeys(("name", "dtype", "trainable"))


def find(preset):
    """Return the path of the preset folder that a run's `preset` names.

    `preset` is the workdir of a finished run (of several seeds, the best on dev
    is taken), its `preset/` folder, or None for the shipped language model.
    """
    if preset is None:
        preset = bindings.ROOT / "presets/gpt1_mini_novels_en"
        _say_once(logging.info, f"no preset is given: using {preset}")
    directory = pathlib.Path(preset)
    for folder in (directory / "preset", directory):
        if (folder / "config.json").exists():
            run = folder.parent
            if (run / "config.gin").exists() and not results.read(run):
                logging.warning(f"{run} is not finished: using what it saved")
            return folder
    if seeds := (results.read(directory) or {}).get("seeds"):
        scores = {s: next(iter(seeds[s].values()), None) for s in seeds}
        known = {s: value for s, value in scores.items() if value is not None}
        best = max(known, key=known.get) if known else next(iter(seeds))
        logging.info(f"{preset}: seed {best}, the best of {len(seeds)} on dev")
        return find(directory / f"seed_{best}")
    raise errors.InputError(
        f"`preset`: {directory} does not exist, or has no preset/ folder and no"
        " config.json; give the workdir of a finished run or its preset/ folder"
    )


def load(cls, directory, *, dtype="float32"):
    """Return `cls.from_preset(directory)` under a dtype policy.

    From then on, factors are rounded as this dtype allows (`precision`). With
    "int8", the kernels of the blocks are rounded to 255 values in each column,
    and everything is computed in float32.
    """
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32" if dtype == "int8" else dtype)
    precision.round_factors(dtype)
    try:
        seal = files.seal_of(directory)
        check(directory)
        # Keras can read quantized weights only into a whole model.
        parts = (backbone_lib.GPT1Backbone, preprocessors.GPT1Tokenizer)
        dtypes = str(read_config(directory).get("dtype"))
        if cls in parts and "Quantized" in dtypes:
            raise ValueError("it is quantized: give that in float32")
        found = cls.from_preset(str(directory))
        _check_model(found)
        if files.seal_of(directory) != seal:  # The weights may be of both.
            raise ValueError("another process replaced it meanwhile")
        if dtype == "int8":
            # Keras collects garbage for each layer. Without all that exists
            # already, loading takes 1.2 s in place of 11.
            gc.freeze()
            try:
                found.backbone.quantize(
                    config=keras.quantizers.Int8QuantizationConfig(
                        activation_quantizer=None
                    ),
                    filters=lambda layer: isinstance(layer, keras.layers.Dense),
                )
            finally:
                gc.unfreeze()
        return found
    # What libraries raise for damaged files is not documented.
    except Exception as error:
        if errors.is_out_of_memory(error):
            raise
        # Keras's message continues with examples, then a list of all objects.
        said = " ".join(str(error).partition("List of objects")[0].split())
        reason = said[:300] or type(error).__name__
        remedy = "give the workdir of a finished run, or run it again"
        if "no class registered" in reason:
            remedy = "name the module of this class by --allow_module"
        raise errors.InputError(
            f"`preset`: {directory} cannot be read ({reason}); {remedy}"
        ) from None
    finally:
        keras.config.set_dtype_policy(policy)


def check(directory):
    """Check a preset; return its `checksums.json`. Damage is a ValueError."""
    directory = pathlib.Path(directory)
    facts = files.check_seal(directory)
    if not facts:
        text = f"{directory} has no checksums: damage may not be noticed"
        _say_once(logging.warning, text)
    config = read_config(directory)
    size = config.get("vocabulary_size")
    positions = config.get("max_sequence_length")
    assets = directory / "assets" / "tokenizer"
    tokens = text_tokenizer.Tokenizer.from_directory(assets).vocabulary_size
    if tokens != size:
        raise ValueError(
            f"the tokenizer has {tokens} tokens, the network {size}"
        )
    with h5py.File(directory / "model.weights.h5") as weights:
        shapes = set()
        weights.visititems(lambda _, x: shapes.add(getattr(x, "shape", None)))
    for rows in (size, positions):
        if (rows, config.get("hidden_dim")) not in shapes:
            raise ValueError("weight shapes differ from the network's")
    if has_head(directory) and not (directory / "task.weights.h5").exists():
        raise ValueError("task.weights.h5 is missing, the weights of the head")
    for name in ("task", "preprocessor"):
        if not (directory / f"{name}.json").exists():
            continue
        found = read_config(directory, name)
        network = found.get("backbone", {}).get("config", config)
        if network | _UNCOMPARED != config | _UNCOMPARED:
            raise ValueError(
                f"{name}.json and config.json differ in the network"
            )
        found = found.get("preprocessor", {}).get("config", found)
        length = found.get("sequence_length", 2)
        if type(length) is not int or not 2 <= length <= positions:
            raise ValueError(
                f"sequence_length {length!r} in {name}.json, which must be from"
                f" 2 to {positions}"
            )
    return facts


@functools.cache
def _say_once(say, text):
    say(text)


def _check_model(model):
    """Refuse weights that are not finite, and a head of another task."""
    for weight in model.weights:
        if keras.backend.is_float_dtype(weight.dtype):
            if not np.isfinite(ops.convert_to_numpy(weight)).all():
                raise ValueError(f"{weight.path} is not finite")
    ours = getattr(model, "preprocessor", None)
    is_task = isinstance(ours, preprocessors.GPT1TaskPreprocessor)
    if is_task and model.head is not None:
        # Loaded late: pretraining needs no tasks.
        from gpt1_keras.tasks import task as task_lib

        found = model.head.num_outputs
        needed = task_lib.label_space_of(ours).num_outputs
        if found != needed:
            raise ValueError(f"the head has {found} outputs, the task {needed}")


def read_config(directory, name="config"):
    """Return the `config` in a preset's JSON file; default: the network's."""
    path = pathlib.Path(directory) / f"{name}.json"
    try:
        found = files.parse_json(path.read_bytes())
        if "model_type" in found:
            raise ValueError(
                "it is of a Hugging Face checkpoint: convert that with"
                " tools/convert_huggingface.py"
            )
        files.check_kinds(found, {"config": dict})
    except (OSError, ValueError) as error:
        raise errors.InputError(
            f"{path} describes no model ({error}): give another preset"
        ) from None
    return found["config"]


def has_head(directory):
    """Return whether a preset is of a fine-tuned model."""
    is_task = (pathlib.Path(directory) / "task.json").exists()
    return is_task and read_config(directory, "task").get("head") is not None


def load_tokenizer(directory):
    return load(preprocessors.GPT1Tokenizer, directory).pipeline


def sha256(directory):
    """Return a digest of a preset's files."""
    sealed = directory / files.CHECKSUMS
    found = [sealed] if sealed.exists() else sorted(directory.rglob("*"))
    digests = [files.sha256(path) for path in found if path.is_file()]
    return files.sha256_of_json(digests)


def check_length(sequence_length, num_positions):
    """Return the sequence length; None means all positions."""
    if sequence_length is None:
        return num_positions
    if sequence_length > num_positions:
        raise errors.InputError(
            f"`sequence_length` {sequence_length} is more than the model's"
            f" {num_positions} positions: lower it"
        )
    return sequence_length


def save(model, directory, **facts):
    """Write a KerasHub model as the preset `directory`, replacing a former one.

    Weights and dtype policies in the files are float32, whatever dtype the
    model computes in. `facts` about the weights, such as `step` and `metrics`,
    go to `checksums.json`. If writing fails, as on a full disk, an OSError is
    raised and `directory` is unchanged.
    """
    precision.check_float(model)
    with files.new_folder(directory) as temporary:
        # On a full disk h5py may crash.
        needed = 4 * model.count_params() + _ROOM_BESIDE_WEIGHTS
        if shutil.disk_usage(temporary).free < needed:
            reason = os.strerror(errno.ENOSPC)
            raise OSError(errno.ENOSPC, reason, str(directory))
        try:
            model.save_to_preset(str(temporary))
        except RuntimeError as error:  # of h5py, where it cannot write
            reason = str(error).split("\n")[0]
            raise OSError(errno.EIO, reason, str(temporary)) from None
        files.seal(temporary, **facts)


def is_finished(workdir, config_sha256):
    """Return whether training is finished and its presets are intact.

    False if the preset is lost: the run then resumes from its last checkpoint
    and saves it again. If there is no checkpoint either, raises InputError.
    """
    found = results.read(workdir)
    if not found or found.get("config_sha256") != config_sha256:
        return False
    for seed in found.get("seeds") or [None]:
        directory = workdir if seed is None else workdir / f"seed_{seed}"
        if (result := results.read(directory)) is None:
            return False  # This seed was removed, to be trained again.
        step = result.get("best_step", result.get("num_steps"))
        try:
            read_back(None, directory / "preset", step=step)
        except errors.InputError as error:
            if not checkpoints_lib.Checkpoints(directory).steps():
                raise errors.InputError(
                    f"{error}; {directory} has no checkpoint to restore it"
                    f" from: remove {results.path(directory)} to train again"
                ) from None
            logging.warning("%s: restoring it from the last checkpoint", error)
            return False
    return results.is_finished(workdir, config_sha256, _EXTEND)


def read_back(cls, directory, *, step):
    """Refuse the preset of a run if it is damaged or from another step.

    Loads it as the class `cls`, unless that is None. Returns what `check` does.
    """
    try:
        facts = check(directory)
        if cls is not None:
            load(cls, directory)
        if (found := facts.get("step", step)) != step:
            raise ValueError(f"it is from step {found}, not from step {step}")
        return facts
    except Exception as error:  # as in `load`
        raise errors.InputError(f"{directory} is lost ({error})") from None


@checks.value_object
class Pretrained:
    """A preset from which training starts."""

    preset: checks.Path | None  # see `find`
    num_transferred_layers: checks.NumTransferredLayers  # see `builders`
    # Rate on embedding, attention and residuals; None: as in pretraining;
    # "auto": `_DROPOUT` for tasks of single texts, None for others.
    dropout: checks.Rate | typing.Literal["auto"] | None
    # Rank of adapters (`GPT1Backbone.enable_lora`); 0: train the weights.
    lora_rank: checks.Index = 0

    @functools.cached_property
    def directory(self):
        return find(self.preset)

    @functools.cached_property
    def tokenizer(self):
        return load_tokenizer(self.directory)

    def num_positions(self):
        return read_config(self.directory)["max_sequence_length"]

    def can_share_prefix(self):
        """Return whether the backbone has attention: a `GPT1Backbone`."""
        return "num_heads" in read_config(self.directory)

    def backbone(self, num_special_tokens, of_single_texts=False):
        """Return a new backbone with transferred weights.

        It has the global dtype policy; weights that are not transferred are
        drawn from the global seed. `of_single_texts` matters for a dropout of
        "auto".
        """
        dropout = self.dropout
        if dropout == "auto":
            dropout = _DROPOUT if of_single_texts else None
            logging.info(f"dropout {dropout or 'as in pretraining'}")
        source = load(backbone_lib.GPT1Backbone, self.directory)
        # `load` has chosen what float32 needs.
        precision.round_factors(keras.config.dtype_policy().name)
        rates = {
            name: dropout
            for name in source.get_config()
            if name.endswith("_dropout") and dropout is not None
        }
        backbone = builders.transferred_backbone(
            source,
            num_transferred_layers=self.num_transferred_layers,
            num_special_tokens=num_special_tokens,
            **rates,
        )
        if self.lora_rank:
            self.check_lora(backbone.num_layers, backbone.hidden_dim)
            backbone.enable_lora(self.lora_rank)
            weights = backbone.trainable_weights
            trained = sum(math.prod(w.shape) for w in weights)
            share = f"{trained:,} of {backbone.count_params():,} weights"
            logging.info(f"LoRA of rank {self.lora_rank} trains {share}")
        return backbone

    def check_lora(self, num_layers, hidden_dim):
        """Refuse adapters that do not fit a network of these sizes."""
        is_whole = self.num_transferred_layers in (None, num_layers)
        if self.lora_rank and not (is_whole and self.lora_rank < hidden_dim):
            raise errors.InputError(
                f"`lora_rank` {self.lora_rank} trains no weights of the"
                " network: it needs all of them (`num_transferred_layers` None)"
                f" and a rank below their width {hidden_dim}, or give 0"
            )


@checks.value_object
class Scoring:
    """How a fine-tuned model scores examples."""

    batch_size: checks.NotRecipe[checks.Count] = 32  # per forward pass
    bucket_lengths: checks.BucketLengths = example_batches.BUCKET_LENGTHS
    dtype: checks.PredictionDtype = "float32"  # see `load`


class FineTuned:
    """A fine-tuned model that scores examples.

    `preset` is as in `find`; `directory` is the preset's folder, `network` the
    `GPT1TaskModel` and `preprocessor` its own.
    """

    def __init__(self, preset, scoring=Scoring()):
        self.directory = find(preset)
        self._scoring = scoring
        if not has_head(self.directory):
            raise errors.InputError(
                f"`preset`: {self.directory} has no head, because it is not"
                " fine-tuned: give the workdir of a fine-tuning run"
            )
        self.network = load(
            task_model.GPT1TaskModel, self.directory, dtype=scoring.dtype
        )
        self.preprocessor = self.network.preprocessor
        backbone = self.network.backbone
        signature = transforms.SIGNATURES[self.preprocessor.transform]
        self._shares = signature.shares_prefix and backbone.can_share_prefix
        seal = json.loads(files.seal_of(self.directory) or "{}")
        self._metrics = seal.get("metrics") or {}  # the main one first
        self._learner = learner_lib.Learner(
            shared_prefix.shared_prefix_network(backbone, self.network.head)
            if self._shares
            else self.network
        )

    def labelled(self, task, examples, split):
        """Return `scoring.Labelled` examples, which need not have labels.

        A task of another kind than the model's raises InputError.
        """
        ours, space = self.preprocessor, task.label_space
        kind = (ours.transform, tuple(ours.label_words), ours.score_range)
        found = (task.transform.__name__, space.class_names, space.score_range)
        if found != kind:
            raise errors.InputError(
                f"`preset`: {self.directory} was fine-tuned on {ours.task}"
                f" with other inputs or labels: give a model of {task.name}"
            )
        if task.is_own:
            names = task.metric([0, 1], [0, 1])
            main = next((name for name in self._metrics if name in names), None)
            task = dataclasses.replace(task, main_metric=main)
        return scoring_lib.Labelled(
            task,
            examples,
            tokenizer=ours.tokenizer.pipeline,
            max_sequence_length=ours.sequence_length,
            batch_size=self._scoring.batch_size,
            bucket_lengths=self._scoring.bucket_lengths,
            name=f"{task.name} {split}",
            share_prefix=self._shares,
        )

    def logits(self, examples):
        """Return logits `[N, Y]`."""
        precision.round_factors(self._scoring.dtype)
        return examples.logits(self._learner)
