"""The user's own TSV, CSV or JSONL files as the splits of a benchmark.

Columns have names; TSV is not quoted, CSV is. Unlike the official files, these
are to be repaired by their owner: the first mistake stops the run, naming file
and line. What is merely suspicious, such as rare classes or repeated texts, is
a warning.
"""

import collections
import dataclasses
import json
import math
import pathlib
import re
import typing

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import rows as rows_lib

# Field of `Columns` -> its name in a configuration.
_MACROS = {
    "text": "TEXT_COLUMN",
    "text_pair": "PAIR_COLUMN",
    "choices": "CHOICES_COLUMNS",
    "label": "LABEL_COLUMN",
}
_INDEX = re.compile(r"[+-]?[0-9]{1,9}")
_RARE = 0.1  # of the largest class
_FEW = 100  # rows; each is one percent of them


class Table(typing.NamedTuple):
    """The rows of a file.

    Attributes:
        names: list of str, the columns in order of appearance.
        rows: list of (line number from 1, dict from name to value). Values
            are str, or any JSON value; a JSONL row has only its own names.
    """

    path: pathlib.Path
    names: list
    rows: list


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a file, by what they hold.

    `choices` is a tuple of at least two columns, or the one column of a JSONL
    file that holds a list. `is_score`: labels are numbers to be predicted.
    """

    text: str
    text_pair: str | None = None
    choices: str | tuple | None = None
    label: str
    is_score: bool = False


class Row(typing.NamedTuple):
    """An example and the line of the file on which it begins."""

    line: int
    example: examples.Example


def read_table(path):
    """Read a `.tsv`, `.csv` or `.jsonl` file into a `Table`.

    Raises:
        InputError: the file is missing, empty, malformed, not UTF-8 or of
            another kind.
    """
    path = pathlib.Path(path)
    kind = path.suffix.lower()
    if kind == ".jsonl":
        advice = "write one JSON object on each line"
        rows = _good(path, rows_lib.json_lines(path), advice)
        names = list(dict.fromkeys(name for _, row in rows for name in row))
    elif kind in (".tsv", ".csv"):
        names, rows = _below_header(path, *_separated(path, kind))
    else:
        raise errors.InputError(
            f"{path} has an unknown ending: give a .tsv, .csv or .jsonl file"
        )
    if not rows:
        raise errors.InputError(f"{path} has no rows: add examples to it")
    return Table(path, names, rows)


def _separated(path, kind):
    """Return the (line, list of str) of a file, and advice for its mistakes."""
    if kind == ".tsv":
        advice = "texts with tabs or line breaks need a .csv"
        return _good(path, rows_lib.tab_separated(path), advice), advice
    # Spreadsheets write other delimiters in other countries.
    _, header = next(rows_lib.tab_separated(path), (1, []))
    header = header if isinstance(header, list) else []
    delimiter = next((c for c in ",;\t" if c in "\t".join(header)), ",")
    name = {",": "commas", ";": "semicolons", "\t": "tabs"}[delimiter]
    advice = f'quote texts with {name}, quotes (as "") or line breaks'
    rows = rows_lib.comma_separated(path, delimiter=delimiter, strict=True)
    return _good(path, rows, advice), advice


def _good(path, rows, advice):
    """Return a list of (line, row) without any `BadRow`."""
    found = []
    for line, row in rows:
        if isinstance(row, rows_lib.BadRow):
            if str(row) == rows_lib.NOT_UTF8:
                advice = "save the file as UTF-8"
            raise errors.InputError(f"{path} line {line}: {row}; {advice}")
        found.append((line, row))
    return found


def _below_header(path, rows, advice):
    if not rows:
        return [], []
    (line, header), *rest = rows
    names = [name.strip() for name in header]
    for name in names:
        if names.count(name) > 1:
            raise errors.InputError(
                f"{path} line {line} names column {name!r} twice: rename one"
            )
    for line, values in rest:
        if len(values) != len(names):
            raise errors.InputError(
                f"{path} line {line} has {len(values)} columns, its header"
                f" {len(names)}: correct the line ({advice})"
            )
    return names, [(line, dict(zip(names, values))) for line, values in rest]


def read_rows(path, columns, *, is_labelled):
    """Read a `.tsv`, `.csv` or `.jsonl` file as a list of `Row`.

    `is_labelled`: every row must have a label; otherwise the column may be
    missing or empty, and the label is None.
    """
    table = read_table(path)
    _check_names(table, columns, is_labelled)
    rows = []
    for line, values in table.rows:
        try:
            rows.append(Row(line, _example(values, columns, is_labelled)))
        except rows_lib.BadRow as error:
            raise errors.InputError(f"{path} line {line}: {error}") from None
    first = rows[0]
    for row in rows:
        count, expected = len(row.example.choices), len(first.example.choices)
        if count != expected:
            raise errors.InputError(
                f"{path} line {row.line} has {count} choices, line"
                f" {first.line} has {expected}: give every row the same number"
            )
    return rows


def _check_names(table, columns, is_labelled):
    choices = columns.choices
    if isinstance(choices, str) and table.path.suffix.lower() != ".jsonl":
        raise errors.InputError(
            f"{table.path} has one column of choices, {choices!r}: give one"
            " for each, CHOICES_COLUMNS = ('choice_0', 'choice_1'), or a"
            " .jsonl file with a list"
        )
    if isinstance(choices, tuple) and len(choices) < 2:
        raise errors.InputError(
            f"CHOICES_COLUMNS is {choices}: give at least two columns"
        )
    for field, macro in _MACROS.items():
        wanted = getattr(columns, field)
        for name in wanted if isinstance(wanted, tuple) else (wanted,):
            is_needed = field != "label" or is_labelled
            if name is None or name in table.names or not is_needed:
                continue
            found = ", ".join(map(repr, table.names))
            raise errors.InputError(
                f"{table.path} has no column {name!r} but {found}: rename the"
                f" column or set {macro}"
            )


def _example(values, columns, is_labelled):
    text = _text(values.get(columns.text), columns.text)
    text_pair = ""
    if columns.text_pair is not None:
        text_pair = _text(values.get(columns.text_pair), columns.text_pair)
    choices = _choices(values, columns.choices)
    label = values.get(columns.label)
    if label is None or (isinstance(label, str) and not label.strip()):
        if is_labelled:
            raise rows_lib.BadRow(
                f"{columns.label!r} is empty: add a label, or remove the line"
            )
        label = None
    elif columns.is_score and not choices:
        label = _score(label)
    else:
        if isinstance(label, bool | int | float):
            label = json.dumps(label)
        label = _text(label, columns.label)
        label = _choice_label(label, choices) if choices else label
    return examples.Example(text, text_pair, choices, label)


def _text(value, name):
    try:
        return rows_lib.text_of(value, repr(name))
    except rows_lib.BadRow as error:
        raise rows_lib.BadRow(
            f"{error}: correct it, or remove the line"
        ) from None


def _choices(values, names):
    if names is None:
        return ()
    if isinstance(names, tuple):
        return tuple(_text(values.get(name), name) for name in names)
    listed = values.get(names)
    if not isinstance(listed, list):
        raise rows_lib.BadRow(
            f"{names!r} is not a list but {errors.shortened(repr(listed))}:"
            ' write the choices as ["...", "..."]'
        )
    if len(listed) < 2:
        raise rows_lib.BadRow(f"{len(listed)} choices: give at least two")
    return tuple(_text(choice, names) for choice in listed)


def _choice_label(label, choices):
    if _INDEX.fullmatch(label):
        if not 0 <= int(label) < len(choices):
            raise rows_lib.BadRow(
                f"label {label} for {len(choices)} choices: give the index"
                f" of the right one, 0 to {len(choices) - 1}"
            )
        return int(label)
    if choices.count(label) != 1:
        number = "several" if label in choices else "none"
        raise rows_lib.BadRow(
            f"label {errors.shortened(repr(label))} is {number} of the choices:"
            " give the text of one choice, or its index from 0"
        )
    return choices.index(label)


def _score(label):
    try:
        score = float(label)
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if isinstance(label, bool) or not math.isfinite(score):
        raise rows_lib.BadRow(
            f"label {errors.shortened(repr(label))} is not a number: give a"
            " score"
        )
    return score


class CustomFiles:
    """Up to three files of the user, each checked when it is first read.

    Without a dev file, `dev_fraction` of the train file is held out: this
    share of each class, all rows of the same text on one side, and the same
    rows for the same `seed`. No row is dropped from the user's files. Rows of a
    test file need no labels. `low` and `high` are the lowest and the highest
    possible score; None takes that of `train`.
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
                f"`dev_fraction` is {dev_fraction!r}, not between 0 and 1: give"
                " a share of the train file, or a DEV_FILE"
            )
        checks.check("seed", seed, checks.Seed)
        checks.check("dev", dev, checks.Path | None)
        self._paths = {"train": train, "dev": dev, "test": test}
        self._columns = columns
        self._dev_fraction = dev_fraction
        self._seed = seed
        self._low, self._high = low, high
        self._rows = {}
        self._parts = {}

    def read(self, data_dir, split):
        """Return the list of Example of split "train", "dev" or "test".

        Those of "test" may have label None. Relative paths are below
        `data_dir`, or the current folder if it is None.
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
            rows = self._parts_of_train(data_dir)[split == "dev"]
        return [row.example for row in rows]

    def class_names(self, data_dir):
        """Return the sorted class names of the train file."""
        return _class_names(self._file(data_dir, "train"))

    def score_range(self, data_dir):
        """Return the lowest and the highest possible score."""
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
            rows = read_rows(path, self._columns, is_labelled=split != "test")
            is_train = split == "train"
            train_rows = rows if is_train else self._file(data_dir, "train")
            self._check(path, rows, train_rows)
            warnings = repetitions(path, rows)
            if not is_train:
                train_path = self._path(data_dir, "train")
                warnings += overlap(train_path, train_rows, path, rows)
                if split == "dev":
                    warnings += few_to_score(path, rows)
            elif self._has_classes:
                warnings += imbalance(path, rows)
            _warn(warnings)
            self._rows[path, split] = rows
        return self._rows[path, split]

    def _check(self, path, rows, train_rows):
        labelled = [row for row in rows if row.example.label is not None]
        if self._columns.choices:
            count = len(rows[0].example.choices)
            expected = len(train_rows[0].example.choices)
            if count != expected:
                raise errors.InputError(
                    f"{path} has {count} choices a row, the train file"
                    f" {expected}: give both the same number"
                )
        elif self._columns.is_score:
            check_scores(path, labelled, *self._range(train_rows))
        else:
            check_classes(path, labelled, _class_names(train_rows))

    def _parts_of_train(self, data_dir):
        """Return (rows to train on, held-out rows), in the file's order."""
        if data_dir not in self._parts:
            rows = self._file(data_dir, "train")
            path = self._path(data_dir, "train")
            held_out = self._held_out(path, rows)
            self._parts[data_dir] = tuple(
                [row for i, row in enumerate(rows) if (i in held_out) == is_dev]
                for is_dev in (False, True)
            )
            _warn(few_to_score(path, self._parts[data_dir][1]))
        return self._parts[data_dir]

    def _held_out(self, path, rows):
        """Return the set of indices of the rows to hold out."""
        # Label of the first row with a text -> text -> rows with it.
        strata = collections.defaultdict(dict)
        stratum_of = {}
        for i, row in enumerate(rows):
            name = _text_key(row.example)
            label = row.example.label if self._has_classes else ""
            label = stratum_of.setdefault(name, label)
            strata[label].setdefault(name, []).append(i)
        generator = np.random.default_rng(self._seed)
        held_out = set()
        for label, texts in sorted(strata.items()):
            groups = list(texts.values())
            if len(groups) < 2:
                line = rows[groups[0][0]].line
                what = f"of class {label!r}" if self._has_classes else "in all"
                raise errors.InputError(
                    f"{path} has one text {what} (line {line}), so none can be"
                    " held out: add more, remove it, or give a DEV_FILE"
                )
            share = round(self._dev_fraction * len(groups))
            count = min(max(share, 1), len(groups) - 1)
            for i in generator.permutation(len(groups))[:count]:
                held_out.update(groups[i])
        return held_out


def check_classes(path, rows, class_names):
    """Raise InputError if a label of `rows` is not one of the learned classes.

    `path` is for the message, as below.
    """
    if len(class_names) < 2:
        raise errors.InputError(
            f"{path} has only the class {class_names[0]!r}: add rows of another"
            " class, or set LABEL_COLUMN"
        )
    for row in rows:
        if row.example.label not in class_names:
            raise errors.InputError(
                f"{path} line {row.line} has label {row.example.label!r}, which"
                " no training row has: correct it, or add such training rows"
            )


def check_scores(path, rows, low, high):
    """Raise InputError if a score is outside the learned range."""
    if not low < high:
        raise errors.InputError(
            f"{path} has scores from {low} to {high}: set `custom.low` below"
            " `custom.high`, or set LABEL_COLUMN"
        )
    for row in rows:
        if not low <= row.example.label <= high:
            raise errors.InputError(
                f"{path} line {row.line} has score {row.example.label}, outside"
                f" {low} to {high}: set `custom.low` and `custom.high`"
            )


def _class_names(rows):
    return tuple(sorted({row.example.label for row in rows}))


# Each of the next four returns a list of warnings, one line each.


def imbalance(path, rows):
    """Warn about a class with under 10 % of the largest class's rows."""
    counts = collections.Counter(row.example.label for row in rows)
    ranked = counts.most_common()
    (_, most), (smallest, fewest) = ranked[0], ranked[-1]
    if fewest >= _RARE * most:
        return []
    line = next(row.line for row in rows if row.example.label == smallest)
    return [
        f"{path}: the classes are imbalanced:"
        f" {', '.join(f'{name!r} {count}' for name, count in ranked)} rows"
        f" (line {line} is the first of {smallest!r}); accuracy says little"
    ]


def few_to_score(path, rows):
    """Warn about a dev split whose scores are mostly chance."""
    if len(rows) >= _FEW:
        return []
    return [
        f"{path}: the dev split has only {len(rows)} rows, so one row is"
        f" {100 / len(rows):.1f} % of accuracy: the choice of the best epoch"
        " and comparisons of models are mostly chance"
    ]


def repetitions(path, rows):
    """Warn about rows that repeat an earlier one, whatever their labels."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[_text_key(row.example)].append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    if not repeated:
        return []
    count = sum(len(group) - 1 for group in repeated)
    first, second = repeated[0][:2]
    warnings = [
        f"{path}: repeated texts: {len(repeated)}, in {count} of"
        f" {len(rows)} rows (line {second.line} repeats line {first.line})"
    ]
    contradicting = []
    for group in repeated:
        labelled = [row for row in group if row.example.label is not None]
        label = labelled[0].example.label if labelled else None
        other = [row for row in labelled if row.example.label != label]
        contradicting += [(labelled[0], other[0])] if other else []
    if contradicting:
        first, other = contradicting[0]
        warnings.append(
            f"{path}: repeated texts with contradictory labels:"
            f" {len(contradicting)} (line {first.line}"
            f" {first.example.label!r}, line {other.line}"
            f" {other.example.label!r})"
        )
    return warnings


def overlap(train_path, train_rows, path, rows):
    """Warn about dev or test rows whose text is in the train file."""
    lines = {_text_key(row.example): row.line for row in reversed(train_rows)}
    shared = [row for row in rows if _text_key(row.example) in lines]
    if not shared:
        return []
    line, first = shared[0].line, lines[_text_key(shared[0].example)]
    return [
        f"{path}: rows that are also in {train_path}: {len(shared)} of"
        f" {len(rows)} (line {line} is its line {first}); scores will be too"
        " high"
    ]


def _text_key(example):
    """Return what makes two examples the same."""
    return example.text, example.text_pair, example.choices


def _warn(warnings):
    for warning in warnings:
        logging.warning("%s", warning)
