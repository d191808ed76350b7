"""A scikit-learn classifier of texts, built on the runs of the gin files."""

import contextlib
import io
import logging
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import warnings
import weakref

import keras
import numpy as np
from absl import logging as absl_logging
from sklearn import base
from sklearn.utils import validation

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files as files_lib
from gpt1_keras import main
from gpt1_keras import precision
from gpt1_keras import results
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data import transforms
from gpt1_keras.runs import presets
from gpt1_keras.tasks import custom

_HELD_OUT = "dev.jsonl"  # written by the run
# Settings that `fit` gives.
_OWN = ("RUN", "TRAIN_FILE", "WORKDIR", "custom.custom.family")
# Argument -> the setting of the run.
_DIALS = {
    "preset": "PRESET",
    "num_epochs": "NUM_EPOCHS",
    "batch_size": "BATCH_SIZE",
    "learning_rate": "PEAK_LEARNING_RATE",
    "random_state": "SEED",
}
_LOCK = threading.RLock()
# {"process": the one that computed first}. Its forks lack TensorFlow's threads.
_first_user = {}


class TextClassifier(base.ClassifierMixin, base.BaseEstimator):
    """Classifier that fine-tunes a pretrained network on texts or pairs.

    `fit` is the run of `gin/finetune/custom.gin`: the same rows and settings on
    the command line give the same weights. It holds out a tenth of the rows and
    keeps the weights that are best on them, or the last weights if it holds out
    fewer than 200. Wrong input raises `errors.InputError`, a `ValueError`.
    Gin's configuration and TensorFlow's or torch's random seed are global:
    `fit` clears the one and sets the other. Threads take turns.

    ```python
    model = TextClassifier().fit(["a fine film", "dull", ...], [1, 0, ...])
    model.predict(["what a film"])          # [1]
    model.predict_proba(["what a film"])    # [[0.1, 0.9]]
    model.save("out/films")                 # PRESET of all runs
    ```

    Args:
        preset: workdir of a pretraining run; None: the shipped model.
        num_epochs, batch_size: int; None: those of the gin files.
        learning_rate: float, the peak of the schedule; None: as in the files.
        random_state: int, the seed of the run; None: as in the gin files.
        files: gin files on top of `gin/finetune/custom.gin`; by default, the
            one for networks of the shipped model's size.
        settings: dict of further settings of the run, such as
            `{"DROPOUT": 0.05, "DTYPE": "mixed_bfloat16"}`, or None.
        workdir: folder in which a stopped `fit` continues and a finished one is
            not repeated; None: a temporary one, removed with the object.
        verbose: bool, whether to log as the command line does.

    Attributes:
        classes_: array `[Y]` of the labels, sorted.
        result_: dict, the `result.json` of the run: metrics and baselines on
            the held-out rows; None if `load` read a folder that `save` wrote.

    Examples:
        Arguments are kept as given, as scikit-learn's searches need:

        >>> from sklearn.base import clone
        >>> model = clone(TextClassifier(num_epochs=2, learning_rate=1e-3))
        >>> model
        TextClassifier(learning_rate=0.001, num_epochs=2)
    """

    def __init__(
        self,
        *,
        preset=None,
        num_epochs=None,
        batch_size=None,
        learning_rate=None,
        random_state=None,
        files=("gin/finetune/mini.gin",),
        settings=None,
        workdir=None,
        verbose=False,
    ):
        self.preset = preset
        self.num_epochs = num_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.files = files
        self.settings = settings
        self.workdir = workdir
        self.verbose = verbose

    def fit(self, X, y):
        """Fine-tune on texts and their labels; return the classifier itself.

        Args:
            X: texts `[N]`, or pairs of texts `[N, 2]`.
            y: labels `[N]`: str, int or bool.
        """
        rows = _rows(X)
        labels = _names(y, len(rows))
        settings, files = self.settings or {}, self.files or ()
        if not isinstance(settings, dict) or settings.keys() & _OWN:
            raise errors.InputError(
                f"`settings` is {errors.shortened(repr(settings))}: give a dict"
                f" such as {{'DROPOUT': 0.05}}, without {', '.join(_OWN)}"
            )
        checks.check("files", files, checks.Path | tuple[checks.Path, ...])
        seed = _plain(self.random_state)
        checks.check("random_state", seed, checks.Seed | None)
        if isinstance(files, str | os.PathLike):
            files = [files]
        self._model = None
        former = getattr(self, "_temporary", None)  # removes its former folder
        if self.workdir is None:
            directory = self._new_folder()
        else:
            directory = files_lib.user_path("`workdir`", self.workdir)
        dials = {dial: getattr(self, name) for name, dial in _DIALS.items()}
        if rows and "text_pair" in rows[0]:  # Else decimals are scores.
            dials["custom.custom.family"] = "pair_classification"
        dials = {k: v for k, v in dials.items() if v is not None}
        rows = [row | {"label": label} for row, label in zip(rows, labels)]
        path, content = _rows_file(directory, rows)
        is_new = not path.exists()
        if is_new:
            files_lib.make_folder(path.parent)
            files_lib.write_atomic(path, content)
        dials |= {**settings, "TRAIN_FILE": str(path)}
        files = ["gin/finetune/custom.gin", *map(os.fspath, files)]
        try:
            self._run(directory, files, dials, path)
        except errors.InputError as error:
            if is_new:  # The folder may belong to another run.
                path.unlink()
            raise errors.InputError(_of_arguments(str(error), path)) from None
        self.directory_ = str(directory.absolute())
        # If unusable rows are skipped, a class may have no rows left.
        names = self._loaded().preprocessor.label_words
        self.classes_ = np.array([c for c in np.unique(y) if str(c) in names])
        self.result_ = results.read(directory)
        if former is not None:
            former()
        return self

    def predict_proba(self, X):
        """Return probabilities `[N, Y]` in the order of `classes_`."""
        model, rows = self._loaded(), _rows(X)
        if not rows:
            return np.zeros((0, len(self.classes_)))
        signature = transforms.SIGNATURES[model.preprocessor.transform]
        is_pair = "text_pair" in signature.fields
        if ("text_pair" in rows[0]) != is_pair:
            kind = "pairs of texts" if is_pair else "single texts"
            raise errors.InputError(f"this model takes {kind}: give {kind}")
        rows = [examples_lib.Example(**row) for row in rows]
        with _contained(self.verbose):
            task = custom.task_of(model.preprocessor, lambda *_: rows)
            logits = model.logits(model.labelled(task, rows, "rows"))
        space = task.label_space
        order = [space.class_names.index(str(c)) for c in self.classes_]
        return space.probabilities(logits)[:, order]

    def predict(self, X):
        """Return the likeliest label of each text, `[N]`."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def save(self, directory):
        """Write the model to `directory`, which every run takes as PRESET.

        `dev.jsonl` there has the held-out rows, with which `export` checks the
        model: remove the file before you publish a model of private texts. A
        folder that already holds a model raises InputError.
        """
        validation.check_is_fitted(self, "directory_")
        folder = files_lib.user_path("`directory`", directory)
        files_lib.make_folder(folder)
        for name in ("preset", _HELD_OUT):
            if (path := folder / name).exists():
                raise errors.InputError(f"{path} exists: give another folder")
        source = presets.find(self.directory_)
        with files_lib.new_folder(folder / "preset") as temporary:
            shutil.copytree(source, temporary, dirs_exist_ok=True)
        if (source.parent / _HELD_OUT).exists():
            shutil.copy(source.parent / _HELD_OUT, folder)

    @classmethod
    def load(cls, directory, **parameters):
        """Return the model of a folder written by `save`, or of a workdir.

        Its labels are str, whatever type they had.
        """
        found = cls(**parameters)
        path = files_lib.user_path("`directory`", directory)
        found.directory_ = str(path.absolute())
        names = found._loaded().preprocessor.label_words
        if not names:
            raise errors.InputError(
                f"{directory} holds no classifier: give a folder that `save`"
                " wrote, or the workdir of a run on own rows with classes"
            )
        found.classes_ = np.array(names)
        found.result_ = results.read(found.directory_)
        return found

    def export(self, directory, settings=None):
        """Write a SavedModel that takes strings to `directory/saved_model/N`.

        It is checked on the held-out rows first. The run is
        `gin/export_custom.gin`, whose values `settings`, a dict, overrides.
        """
        rows = self._loaded().directory.parent / _HELD_OUT
        dials = {"PRESET": self.directory_, "TEST_FILE": str(rows)}
        path = files_lib.user_path("`directory`", directory)
        checks.check("settings", settings or {}, dict)
        self._run(path, ["gin/export_custom.gin"], dials | (settings or {}))

    def _run(self, directory, files, dials, rows_file=None):
        lines = [f"{name} = {_plain(value)!r}" for name, value in dials.items()]
        with _contained(self.verbose, rows_file):
            main.run(files, lines, str(directory), verbose=self.verbose)

    def _loaded(self):
        validation.check_is_fitted(self, "directory_")
        if getattr(self, "_model", None) is None:
            with _contained(verbose=True):
                self._model = presets.FineTuned(self.directory_)
        return self._model

    def _new_folder(self):
        """Return a temporary folder that is removed with the object."""
        path = tempfile.mkdtemp(prefix="gpt1_keras_")
        self._temporary = weakref.finalize(
            self, shutil.rmtree, path, ignore_errors=True
        )
        return pathlib.Path(path)

    def __getstate__(self):
        """Return the state to pickle, if fitted with the files of `save`."""
        state = dict(super().__getstate__())
        state.pop("_model", None)
        state.pop("_temporary", None)
        if state.pop("directory_", None) is not None:
            with tempfile.TemporaryDirectory() as folder:
                self.save(folder)
                state["_files"] = {
                    str(path.relative_to(folder)): path.read_bytes()
                    for path in pathlib.Path(folder).rglob("*")
                    if path.is_file()
                }
        return state

    def __setstate__(self, state):
        found = state.pop("_files", {})
        super().__setstate__(state)
        if found:
            self.directory_ = str(self._new_folder())
        for name, content in found.items():
            files_lib.write_atomic(f"{self.directory_}/{name}", content)


def _rows(X):
    """Return texts `[N]` or pairs `[N, 2]` as arguments of `Example`s."""
    rows = np.asarray(X, dtype=object).tolist()
    found = []
    if not isinstance(rows, list):
        raise errors.InputError(
            f"X is {type(X).__name__}: give a list of texts"
        )
    size = 1 if not rows or isinstance(rows[0], str) else 2
    for number, row in enumerate(rows):
        texts = [row] if size == 1 else row
        fits = isinstance(texts, tuple | list) and len(texts) == size
        if not fits or not all(isinstance(text, str) for text in texts):
            raise errors.InputError(
                f"X[{number}] is {row!r}: give texts, or pairs of texts"
            )
        found.append(dict(zip(("text", "text_pair"), texts)))
    return found


def _names(y, size):
    """Return labels `[N]` as names of classes."""
    if y is None:
        raise errors.InputError("y is None: give a label for each text")
    labels = np.asarray(y, dtype=object).ravel().tolist()
    if len(labels) != size:
        raise errors.InputError(f"{size} texts, but {len(labels)} labels in y")
    kinds = {type(_plain(label)) for label in labels}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        listed = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise errors.InputError(
            f"y holds {listed}: give all labels as str, int or bool"
        )
    names = [str(label) for label in labels]
    if len(set(names)) < 2:
        raise errors.InputError(
            f"y has {len(set(names))} different labels: give at least two"
        )
    for name in names:
        if name != name.strip():
            raise errors.InputError(
                f"the label {name!r} begins or ends with a space: remove it"
            )
    return names


def _plain(value):
    """Return numpy's values and paths as what gin can write."""
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value))
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _of_arguments(message, rows_file):
    """Return a message about the rows' file as one about `X`."""
    path = re.escape(str(rows_file))
    for pattern, name in (
        (rf"{path} line (\d+)", lambda found: f"X[{int(found[1]) - 1}]"),
        (path, "X"),
        ("--workdir", "`workdir`"),
        ("TRAIN_FILE '[^']*' -> 'X'", "it has other texts or labels"),
        (r'--set "([\w.]+) = [^"]*": (?=\1)', ""),
        (r'--set "([\w.]+) = [^"]*": ', r"\1: "),
        (r'--set "([\w.]+) = ([^"]*)"', r"settings={'\1': \2}"),
        *((rf"\b{dial}\b", f"`{name}`") for name, dial in _DIALS.items()),
    ):
        message = re.sub(pattern, name, message)
    return message


def _rows_file(directory, rows):
    """Return path and content of a file with the rows, named by its content."""
    try:
        digest = files_lib.sha256_of_json(rows)
    except UnicodeEncodeError as error:
        raise errors.InputError(
            f"a text or label holds {error.object[error.start]!r}, which is not"
            " a character: remove it"
        ) from None
    path = directory.absolute() / f"rows_{digest[:12]}.jsonl"
    return path, "".join(map(files_lib.json_line, rows))


@contextlib.contextmanager
def _contained(verbose, rows_file=None):
    """Restore Keras's precision and devices, logging and random generators.

    Unless `verbose`, log lines except warnings appear only after an error. A
    signal that stopped the run is raised again, for the caller's handler.
    """

    if _first_user.setdefault("process", os.getpid()) != os.getpid():
        raise errors.InputError(
            "a model cannot be used in a fork of a process that has used one:"
            " start processes with multiprocessing's 'spawn', or by joblib"
        )

    def rename(record):
        record.msg = _of_arguments(record.getMessage(), rows_file)
        record.args = ()
        return True

    with _LOCK, precision.restored():
        logged, logger = io.StringIO(), logging.getLogger("absl")
        levels = {each: each.level for each in (logging.root, logger)}
        handlers = logging.root.handlers[:]
        shown = logging.StreamHandler(sys.stderr)
        shown.setLevel(logging.WARNING)
        if rows_file is not None:
            shown.addFilter(rename)
        if not verbose:
            logger.addHandler(shown)
            # There from a run of the command line in this process.
            logging.root.removeHandler(absl_logging.get_absl_handler())
            others = logging.StreamHandler(logged)
            others.addFilter(lambda record: record.levelno < logging.WARNING)
            logging.root.addHandler(others)
        states = random.getstate(), np.random.get_state()
        devices = keras.distribution.distribution()
        try:
            with (
                contextlib.redirect_stderr(sys.stderr if verbose else logged),
                warnings.catch_warnings(
                    action="ignore", category=DeprecationWarning
                ),
            ):
                yield
        except errors.Stopped as stopped:
            if stopped.signal_name:  # None if a worker was lost.
                signal.raise_signal(signal.Signals[stopped.signal_name])
            raise
        except Exception:
            sys.stderr.write(logged.getvalue())
            raise
        finally:
            logger.removeHandler(shown)
            logging.root.handlers[:] = handlers
            for each, level in levels.items():
                each.setLevel(level)
            random.setstate(states[0])
            np.random.set_state(states[1])
            keras.distribution.set_distribution(devices)
