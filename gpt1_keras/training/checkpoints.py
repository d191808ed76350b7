"""Checkpoints that a killed run continues from bit for bit.

A checkpoint is a folder `checkpoints/00000100` of two files: every variable
in `state.safetensors`, and `checkpoint.json` with the step, the order of the
variables and the hash of the state. It appears in one rename, so a folder
without a leading dot is complete. Random states (the counters of all
SeedGenerators) are variables of the model and belong to it; Keras's own
formats drop them. Arrays are numpy: any backend reads what another wrote.
"""

import json
import os
import pathlib
import re
import shutil

import numpy as np
import safetensors.numpy
from absl import logging
from keras import ops

from gpt1_keras import errors
from gpt1_keras import files

_STATE = "state.safetensors"
_INDEX = "checkpoint.json"
# Keras numbers these by the order of their making in the whole process.
_COUNTER = re.compile(r"_\d+(?=/|$)")


class Checkpoints:
    """The numbered checkpoints of one workdir.

    Args:
        directory: path of the folder, made at the first save.
        keep: int. How many of the newest stay.
        is_written: bool. False where another process writes them.
    """

    def __init__(self, directory, *, keep, is_written=True):
        self.directory = pathlib.Path(directory)
        self.keep = keep
        self.is_written = is_written

    def steps(self):
        """Return the steps saved, ascending."""
        return sorted(
            int(path.name)
            for path in self.directory.glob("[0-9]*")
            if path.name.isdigit()
        )

    def save(self, step, model):
        """Write the state of a compiled model; a repeated step is skipped.

        Args:
            step: int. Updates made.
            model: compiled `keras.Model`.
        """
        target = self._path(step)
        if target.exists() or not self.is_written:
            return
        temporary = self.directory / f".{target.name}.{os.getpid()}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        arrays = {
            key: np.asarray(ops.convert_to_numpy(variable), order="C")
            for key, variable in _variables(model).items()
        }
        state = temporary / _STATE
        safetensors.numpy.save_file(arrays, state)
        files.sync(state)
        index = {
            "step": step,
            "sha256": files.sha256(state),
            "variables": list(arrays),
        }
        files.write_atomic(temporary / _INDEX, json.dumps(index, indent=1))
        os.replace(temporary, target)
        files.sync(self.directory)
        self._remove_old()

    def restore(self, model):
        """Load the newest whole checkpoint into a compiled model.

        One that is torn or damaged is named in the log, and the one before
        it is taken.

        Returns:
            int: its step; 0 if there is none.

        Raises:
            InputError: checkpoints exist and none can be read, or one is of
                another model.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                arrays = self._read(step)
            except (OSError, ValueError, KeyError) as error:
                logging.warning(
                    "checkpoint %s cannot be read (%s): taking the one before",
                    self._path(step),
                    error,
                )
                continue
            _assign(model, arrays, self._path(step))
            self._discard_after(step)
            return step
        if steps:
            raise errors.InputError(
                f"{self.directory}: no checkpoint can be read; remove the "
                "folder to start anew"
            )
        return 0

    def discard(self, step):
        """Remove the checkpoint of `step` if there is one before it."""
        if step in self.steps()[1:]:
            shutil.rmtree(self._path(step))

    def _path(self, step):
        return self.directory / f"{step:08d}"

    def _read(self, step):
        path = self._path(step)
        index = json.loads((path / _INDEX).read_text(encoding="utf-8"))
        if files.sha256(path / _STATE) != index["sha256"]:
            raise ValueError("its sha256 is wrong")
        arrays = safetensors.numpy.load_file(path / _STATE)
        return {key: arrays[key] for key in index["variables"]}

    def _discard_after(self, step):
        for newer in [s for s in self.steps() if s > step]:
            shutil.rmtree(self._path(newer))

    def _remove_old(self):
        for step in self.steps()[: -self.keep]:
            shutil.rmtree(self._path(step))
        for path in self.directory.glob(".*.tmp"):
            shutil.rmtree(path, ignore_errors=True)


def _variables(model):
    """Return `{key: variable}` in an order that no backend changes."""
    named = {}
    for kind, variables in (
        ("model", model.variables),
        ("optimizer", model.optimizer.variables),
    ):
        for i, variable in enumerate(variables):
            path = _COUNTER.sub("", variable.path)
            named[f"{kind}/{i:04d}/{path}"] = variable
    return named


def _assign(model, arrays, path):
    variables = _variables(model)
    if list(variables) != list(arrays):
        raise errors.InputError(
            f"{path} holds another model's variables; give another --workdir"
        )
    for key, variable in variables.items():
        if tuple(variable.shape) != arrays[key].shape:
            raise errors.InputError(
                f"{path}: {key} has shape {arrays[key].shape}, the model "
                f"needs {tuple(variable.shape)}; give another --workdir"
            )
        variable.assign(arrays[key])
