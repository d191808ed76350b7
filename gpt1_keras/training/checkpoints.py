"""Checkpoints from which a killed run resumes bit for bit, on any backend.

A checkpoint is a folder such as `checkpoints/00000100`. It holds every variable
in `state.safetensors`, and in `checkpoint.json` the step, the order of the
variables and the hash of the state. The variables include the random states of
all SeedGenerators, which Keras's own formats drop. The `preset/` in it is a
copy of the run's preset at that step, so that preset and metrics agree when the
run resumes there. A checkpoint is written to a folder with a leading dot and
then renamed, so any other folder is complete.
"""

import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
from concurrent import futures

import numpy as np
import safetensors
import safetensors.numpy
from absl import logging
from keras import ops

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results

_STATE = "state.safetensors"
_INDEX = "checkpoint.json"
_PRESET = "preset"
# Keras numbers equal names in the order in which a process creates them.
_COUNTER = re.compile(r"_\d+(?=/|$)")


class Checkpoints:
    """The `keep` newest checkpoints of one workdir.

    Unless `is_written`, another process writes them. With `in_background`,
    `save` returns once it has copied the state; then call `check` at the end.
    """

    def __init__(
        self, workdir, *, keep=1, is_written=True, in_background=False
    ):
        self.directory = pathlib.Path(workdir) / "checkpoints"
        self.preset = pathlib.Path(workdir) / _PRESET
        self.keep = keep
        self.is_written = is_written
        self._writer = in_background and futures.ThreadPoolExecutor(1)
        self._written = None  # future of the last save in the background

    def steps(self):
        names = (path.name for path in self.directory.glob("[0-9]*"))
        return sorted(map(int, filter(str.isdigit, names)))

    def save(self, step, model):
        """Write the state of a compiled model; skip a step already saved.

        After a failure in the background, the next save is in the foreground,
        where a failure raises OSError.
        """
        self.finish()
        target = self._path(step)
        if target.exists() or not self.is_written:
            return
        self.directory.mkdir(exist_ok=True)  # fails if the workdir was moved
        metrics = self.directory.parent / results.METRICS
        if metrics.exists():  # They must survive a power failure, too.
            files.sync(metrics)
        has_failed = self._written and self._written.exception()
        in_background = self._writer and not has_failed
        # Later steps change variables and preset: copy them now.
        owned = ["C", "OWNDATA"] if in_background else ["C"]
        arrays = {
            key: np.require(ops.convert_to_numpy(variable), requirements=owned)
            for key, variable in _variables(model).items()
        }
        with contextlib.ExitStack() as stack:
            temporary = stack.enter_context(files.new_folder(target))
            self._copy_preset(temporary / _PRESET)
            # From here on, `_write` renames or removes the folder.
            arguments = step, arrays, temporary, stack.pop_all()
        if in_background:
            self._written = self._writer.submit(self._write, *arguments)
        else:
            self._write(*arguments)
            self._written = None

    def finish(self):
        """Wait for the save in the background, if there is one."""
        futures.wait([self._written] if self._written else [])

    def check(self):
        """Raise the OSError of the last save if it failed in the background."""
        if self._written:
            self._written.result()

    def _write(self, step, arrays, temporary, stack):
        """Write a checkpoint to `temporary`; closing `stack` renames it."""
        state = temporary / _STATE
        try:
            with stack:
                safetensors.numpy.save_file(arrays, state)
                files.sync(state)
                index = {"step": step, "sha256": files.sha256(state)}
                index["variables"] = list(arrays)
                text = json.dumps(index, indent=1)
                files.write_atomic(temporary / _INDEX, text)
        except (OSError, safetensors.SafetensorError) as error:
            if self._writer:
                logging.warning(
                    f"{self._path(step)} could not be written ({error}): trying"
                    " again at the next checkpoint"
                )
            if isinstance(error, OSError):
                raise
            # Such as a full disk.
            raise OSError(errno.EIO, str(error), str(state)) from None
        for old in self.steps()[: -self.keep]:
            shutil.rmtree(self._path(old))
        for path in self.directory.glob(".*.tmp"):
            shutil.rmtree(path, ignore_errors=True)

    def restore(self, model):
        """Load the newest intact checkpoint into a compiled model.

        Skips damaged ones with a warning, and removes those that are newer than
        the one it loads. Returns the step, or 0 if there is no checkpoint.
        Raises InputError if none can be read or it belongs to another model.
        """
        steps = self.steps()
        for step in reversed(steps):
            try:
                arrays = self._read(step)
                is_lost = self._has_lost_preset(step)
            except PermissionError:  # It may be intact.
                raise
            except (OSError, ValueError, KeyError, TypeError) as error:
                logging.warning(
                    f"checkpoint {self._path(step)} cannot be read ({error}):"
                    " using the previous one"
                )
                continue
            _assign(model, arrays, self._path(step))
            self._restore_preset(step, is_lost)
            for newer in steps[steps.index(step) + 1 :]:
                shutil.rmtree(self._path(newer))
            return step
        if steps:
            raise errors.InputError(
                f"{self.directory}: no checkpoint can be read; remove the "
                "folder to start from step 0"
            )
        self._restore_preset(0, False)
        return 0

    def _path(self, step):
        return self.directory / f"{step:08d}"

    def _read(self, step):
        path = self._path(step)
        index = files.parse_json((path / _INDEX).read_bytes())
        if files.sha256(path / _STATE) != index["sha256"]:
            raise ValueError("checksum mismatch")
        return safetensors.numpy.load_file(path / _STATE)

    def _copy_preset(self, target):
        """Copy the preset, or hard-link an identical previous copy."""
        seal = files.seal_of(self.preset)
        if seal is None:
            return
        # Without a former checkpoint, this path does not exist.
        before = self._path(max(self.steps(), default=0)) / _PRESET
        if files.seal_of(before) == seal:
            _copy_tree(before, target, copy_function=_link)
            return
        _copy_tree(self.preset, target)
        for path in target.rglob("*"):
            files.sync(path)

    def _has_lost_preset(self, step):
        """Return whether `preset/` differs from a checkpoint's intact copy.

        Raises ValueError if it differs from a damaged one.
        """
        copy = self._path(step) / _PRESET
        if not self.is_written or not copy.exists():
            return False
        with contextlib.suppress(ValueError):  # damaged
            files.check_seal(self.preset)
            if files.seal_of(self.preset) == files.seal_of(copy):
                return False
        files.check_seal(copy)
        return True

    def _restore_preset(self, step, is_lost):
        """Put `preset/` into the state that it had at `step`."""
        copy = self._path(step) / _PRESET
        if is_lost:
            with files.new_folder(self.preset) as temporary:
                _copy_tree(copy, temporary, dirs_exist_ok=True)
        elif self.is_written and not copy.exists():
            # Remove a preset of a later step (old versions recorded no step).
            with contextlib.suppress(ValueError):  # damaged
                if files.check_seal(self.preset).get("step", 0) > step:
                    shutil.rmtree(self.preset)


def _copy_tree(source, target, **options):
    """Copy a folder; an OSError gives the first reason, such as a full disk."""
    try:
        shutil.copytree(source, target, **options)
    except shutil.Error as error:
        ((_, _, reason), *_) = error.args[0]
        raise OSError(errno.EIO, reason, str(target)) from None


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:  # Not all file systems have links.
        shutil.copy(source, target)


def _variables(model):
    """Return `{key: variable}` in the same order on every backend."""
    return {
        f"{kind}/{i:04d}/{_COUNTER.sub('', variable.path)}": variable
        for kind, owner in (("model", model), ("optimizer", model.optimizer))
        for i, variable in enumerate(owner.variables)
    }


def _assign(model, arrays, path):
    variables = _variables(model)
    needed = {key: tuple(v.shape) for key, v in variables.items()}
    found = {key: array.shape for key, array in arrays.items()}
    for key in sorted(needed | found):
        if needed.get(key) != found.get(key):
            raise errors.InputError(
                f"{path} holds another model's variables: {key} has shape "
                f"{found.get(key)}, the model needs {needed.get(key)}; give "
                "another --workdir"
            )
    for key, variable in variables.items():
        variable.assign(arrays[key])
