"""The user's own TSV, CSV or JSONL files as a benchmark's three splits."""

import collections
import pathlib

import numpy as np
from absl import logging

from gpt1_keras import dials
from gpt1_keras import errors
from gpt1_keras.data.readers import data_checks
from gpt1_keras.data.readers import labelled_rows


class CustomFiles:
    """Up to three files of the user, checked when they are first read.

    Without a dev file, `dev_fraction` of the train file is held out: each
    class by this share, rows of the same text all on one side, and the same
    rows for the same seed. Nothing is dropped from files the user gives: the
    same text in two of them is only warned of, as are repeated texts,
    contradicting labels and rare classes.

    Args:
        train: path of a file.
        dev: path of a file, or None.
        test: path of a file, or None. Its rows need no labels.
        columns: `labelled_rows.Columns`.
        dev_fraction: float between 0 and 1.
        seed: int. Chooses the rows held out.
        low: float, the lowest score there can be; None: that of `train`.
        high: float, the highest one; None: that of `train`.
    """

    def __init__(
        self,
        *,
        train,
        dev=None,
        test=None,
        columns,
        dev_fraction,
        seed,
        low=None,
        high=None,
    ):
        is_share = isinstance(dev_fraction, float) and 0 < dev_fraction < 1
        if dev is None and not is_share:
            raise errors.InputError(
                f"DEV_FRACTION {dev_fraction!r} is not between 0 and 1: give a"
                " share of the train file, or a DEV_FILE"
            )
        dials.check_count("SPLIT_SEED", seed, low=0)
        if dev is not None:
            dials.check_text("DEV_FILE", dev)
        self._paths = {"train": train, "dev": dev, "test": test}
        self._columns = columns
        self._dev_fraction = dev_fraction
        self._seed = seed
        self._low, self._high = low, high
        self._rows = {}
        self._parts = {}

    def read(self, data_dir, split):
        """Return the examples of a split.

        Args:
            data_dir: folder of relative paths; None: the current one.
            split: str, "train", "dev" or "test".

        Returns:
            list of Example; those of "test" may have label None.

        Raises:
            InputError: a file is missing or not as it should be.
        """
        if split not in self._paths:
            raise errors.InputError(
                f"split {split!r} is unknown: give train, dev or test"
            )
        if split == "test" and self._paths["test"] is None:
            raise errors.InputError("no test file is given: set TEST_FILE")
        if split == "test" or self._paths["dev"] is not None:
            rows = self._file(data_dir, split)
        else:
            rows = self._held_out(data_dir)[split == "dev"]
        return [row.example for row in rows]

    def words(self, data_dir):
        """Return the names of the train file's classes, sorted."""
        return _words(self._file(data_dir, "train"))

    def score_range(self, data_dir):
        """Return the lowest and the highest score there can be."""
        return self._range(self._file(data_dir, "train"))

    @property
    def _has_classes(self):
        return not (self._columns.choices or self._columns.is_score)

    def _range(self, train_rows):
        scores = [row.example.label for row in train_rows]
        low = min(scores) if self._low is None else self._low
        high = max(scores) if self._high is None else self._high
        return low, high

    def _path(self, data_dir, split):
        return pathlib.Path(data_dir or "", self._paths[split])

    def _file(self, data_dir, split):
        """Return the rows of a file, read and checked the first time."""
        path = self._path(data_dir, split)
        if (path, split) not in self._rows:
            rows = labelled_rows.read(
                path, self._columns, is_labelled=split != "test"
            )
            is_train = split == "train"
            train_rows = rows if is_train else self._file(data_dir, "train")
            self._check(path, rows, train_rows)
            warnings = data_checks.repetitions(path, rows)
            if not is_train:
                train_path = self._path(data_dir, "train")
                warnings += data_checks.overlap(
                    train_path, train_rows, path, rows
                )
                if split == "dev":
                    warnings += data_checks.few_to_score(path, rows)
            elif self._has_classes:
                warnings += data_checks.imbalance(path, rows)
            _warn(warnings)
            self._rows[path, split] = rows
        return self._rows[path, split]

    def _check(self, path, rows, train_rows):
        labelled = [row for row in rows if row.example.label is not None]
        if self._columns.choices:
            _check_choices(path, rows, train_rows)
        elif self._columns.is_score:
            check_scores(path, labelled, *self._range(train_rows))
        else:
            check_words(path, labelled, _words(train_rows))

    def _held_out(self, data_dir):
        """Return (rows to train on, rows held out), in the file's order."""
        if data_dir not in self._parts:
            rows = self._file(data_dir, "train")
            path = self._path(data_dir, "train")
            held_out = _draw(
                rows,
                self._dev_fraction,
                self._seed,
                path=path,
                is_stratified=self._has_classes,
            )
            self._parts[data_dir] = (
                [row for i, row in enumerate(rows) if i not in held_out],
                [row for i, row in enumerate(rows) if i in held_out],
            )
            _warn(data_checks.few_to_score(path, self._parts[data_dir][1]))
        return self._parts[data_dir]


def _warn(warnings):
    for warning in warnings:
        logging.warning("%s", warning)


def _words(rows):
    return tuple(sorted({row.example.label for row in rows}))


def _check_choices(path, rows, train_rows):
    count = len(rows[0].example.choices)
    expected = len(train_rows[0].example.choices)
    if count != expected:
        raise errors.InputError(
            f"{path} has {count} choices a row, the train file {expected}: give"
            " both the same number"
        )


def check_words(path, rows, words):
    """Refuse labels that are none of the classes learnt.

    Args:
        path: path of the file, for messages.
        rows: list of labelled `labelled_rows.Row`.
        words: tuple of str.
    """
    if len(words) < 2:
        raise errors.InputError(
            f"{path} has only the class {words[0]!r}: add rows of another one,"
            " or set LABEL_COLUMN"
        )
    for row in rows:
        if row.example.label not in words:
            raise errors.InputError(
                f"{path} line {row.line} has label {row.example.label!r}, which"
                " no training row has: mend it, or train on such rows, too"
            )


def check_scores(path, rows, low, high):
    """Refuse scores outside the range learnt; arguments as `check_words`."""
    if not low < high:
        raise errors.InputError(
            f"{path} has scores from {low} to {high}: set a LOWEST_SCORE below"
            " the HIGHEST_SCORE, or LABEL_COLUMN"
        )
    for row in rows:
        if not low <= row.example.label <= high:
            raise errors.InputError(
                f"{path} line {row.line} has score {row.example.label}, outside"
                f" {low} to {high}: set LOWEST_SCORE and HIGHEST_SCORE"
            )


def _draw(rows, fraction, seed, *, path, is_stratified):
    """Return the set of indices of the rows to hold out."""
    # Label of the first row with a text -> text -> rows with it.
    strata = collections.defaultdict(dict)
    stratum_of = {}
    for i, row in enumerate(rows):
        name = data_checks.key(row.example)
        label = row.example.label if is_stratified else ""
        label = stratum_of.setdefault(name, label)
        strata[label].setdefault(name, []).append(i)
    generator = np.random.default_rng(seed)
    held_out = set()
    for label, texts in sorted(strata.items()):
        groups = list(texts.values())
        if len(groups) < 2:
            line = rows[groups[0][0]].line
            what = f"of class {label!r}" if is_stratified else "in all"
            raise errors.InputError(
                f"{path} has one text {what} (line {line}), so none can be held"
                " out: add more, remove it, or give a DEV_FILE"
            )
        count = min(max(round(fraction * len(groups)), 1), len(groups) - 1)
        for i in generator.permutation(len(groups))[:count]:
            held_out.update(groups[i])
    return held_out
