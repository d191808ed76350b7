"""The user's own TSV, CSV or JSONL files as a benchmark's three splits."""

import collections
import csv
import dataclasses
import io
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

# -----------------------------------------------------------------------------
# What is suspicious in a file of examples, each as one line of warning.

_RARE = 0.1  # of the largest class
_FEW = 100  # rows, of which each is a percent


def imbalance(path, rows):
    """Warn of a class with under 10 % of the rows of the largest one.

    Returns:
        list of str, empty or one line.
    """
    counts = collections.Counter(row.example.label for row in rows)
    ranked = counts.most_common()
    (_, most), (smallest, fewest) = ranked[0], ranked[-1]
    if fewest >= _RARE * most:
        return []
    line = next(row.line for row in rows if row.example.label == smallest)
    return [
        f"{path}: classes are far from equal:"
        f" {', '.join(f'{word!r} {count}' for word, count in ranked)} rows"
        f" (line {line} is the first of {smallest!r}); accuracy will say little"
    ]


def few_to_score(path, rows):
    """Warn of a dev split so small that its scores are mostly chance.

    Returns:
        list of str, empty or one line.
    """
    if len(rows) >= _FEW:
        return []
    return [
        f"{path}: only {len(rows)} rows are for dev, so one row is"
        f" {100 / len(rows):.1f} % of accuracy: the best epoch is found, and"
        " models compared, much by chance"
    ]


def repetitions(path, rows):
    """Warn of rows that repeat an earlier one, with the same label or not.

    Returns:
        list of str, at most one line for repetitions and one for
        contradictions.
    """
    groups = collections.defaultdict(list)
    for row in rows:
        groups[text_key(row.example)].append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    contradicting = [
        group
        for group in repeated
        if len({row.example.label for row in group} - {None}) > 1
    ]
    warnings = []
    if repeated:
        count = sum(len(group) - 1 for group in repeated)
        first, second = repeated[0][:2]
        warnings.append(
            f"{path}: repeated texts: {len(repeated)}, in {count} of"
            f" {len(rows)} rows (line {second.line} repeats line {first.line})"
        )
    if contradicting:
        group = [r for r in contradicting[0] if r.example.label is not None]
        first = group[0]
        other = next(r for r in group if r.example.label != first.example.label)
        warnings.append(
            f"{path}: repeated texts whose labels contradict each other:"
            f" {len(contradicting)} (line {first.line}"
            f" {first.example.label!r}, line {other.line}"
            f" {other.example.label!r})"
        )
    return warnings


def overlap(train_path, train_rows, path, rows):
    """Warn of rows of a dev or test file whose text is in the train file.

    Returns:
        list of str, empty or one line.
    """
    lines = {text_key(row.example): row.line for row in reversed(train_rows)}
    shared = [row for row in rows if text_key(row.example) in lines]
    if not shared:
        return []
    line, first = shared[0].line, lines[text_key(shared[0].example)]
    return [
        f"{path}: rows that are in {train_path} too: {len(shared)} of"
        f" {len(rows)} (line {line} is its line {first}); they flatter scores"
    ]


def text_key(example):
    """Return what makes two examples the same."""
    return example.text, example.text_pair, example.choices


# -----------------------------------------------------------------------------
# TSV, CSV and JSONL files whose columns have names.


@dataclasses.dataclass(frozen=True)
class Table:
    """The rows of a file.

    Attributes:
        path: path of the file.
        names: list of str, the columns in order of appearance.
        rows: list of (line number from 1, dict from name to value). Values
            are str, or whatever JSON holds; a JSONL row has only its own
            names.
    """

    path: pathlib.Path
    names: list
    rows: list


def read_table(path):
    """Read a file into a `Table`.

    Raises:
        InputError: the file is missing, empty, broken, not UTF-8 or of an
            unknown kind.
    """
    path = pathlib.Path(path)
    if path.suffix.lower() not in _PARSERS:
        raise errors.InputError(
            f"{path} has an unknown ending: give a .tsv, .csv or .jsonl file"
        )
    text = _read_text(path)
    names, rows = _PARSERS[path.suffix.lower()](path, text)
    if not rows:
        raise errors.InputError(f"{path} has no rows: add examples to it")
    return Table(path, names, rows)


def _read_text(path):
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise errors.InputError(
            f"{path} does not exist: give a .tsv, .csv or .jsonl file"
        ) from None
    except OSError as error:
        raise errors.InputError(
            f"{path} cannot be read ({error.strerror}): give a file"
        ) from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise errors.InputError(
            f"{path} line {line} is not UTF-8: save the file as UTF-8"
        ) from None
    if not text.strip():
        raise errors.InputError(f"{path} is empty: add examples to it")
    return text


def _parse_tsv(path, text):
    # Not splitlines(): texts may hold other characters it takes for breaks.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    fields = [
        (i, line.split("\t")) for i, line in enumerate(lines, 1) if line.strip()
    ]
    return _with_header(path, fields, "texts with tabs or breaks need a .csv")


def _parse_csv(path, text):
    header = text.lstrip().split("\n", 1)[0]
    comma = next((c for c in ",;\t" if c in header), ",")
    reader = csv.reader(
        io.StringIO(text, newline=""), strict=True, delimiter=comma
    )
    fields, line = [], 1
    csv.field_size_limit(max(len(text), csv.field_size_limit()))
    try:
        for values in reader:
            if any(map(str.strip, values)):
                fields.append((line, values))
            line = reader.line_num + 1
    except csv.Error as error:
        raise errors.InputError(
            f"{path} line {line} is no CSV ({error}): quote texts that hold"
            ' commas, quotes or line breaks, and write " inside them as ""'
        ) from None
    written = {",": "commas", ";": "semicolons", "\t": "tabs"}[comma]
    return _with_header(path, fields, f"texts with {written} in quotes")


def _with_header(path, fields, advice):
    (line, header), *rest = fields
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
                f" {len(names)}: mend the line ({advice})"
            )
    return names, [(line, dict(zip(names, values))) for line, values in rest]


def _parse_jsonl(path, text):
    names, rows = {}, []
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", error)
            raise errors.InputError(
                f"{path} line {line} is broken JSON ({reason}): write one"
                " JSON object per line"
            ) from None
        if not isinstance(row, dict):
            raise errors.InputError(
                f"{path} line {line} is no JSON object: write one like"
                ' {"text": "...", "label": "..."} per line'
            )
        names |= dict.fromkeys(row)
        rows.append((line, row))
    return list(names), rows


_PARSERS = {".tsv": _parse_tsv, ".csv": _parse_csv, ".jsonl": _parse_jsonl}


# -----------------------------------------------------------------------------
# Rows of a file with named columns as labelled examples.

# The column each field comes from -> what a configuration calls it.
_MACROS = {
    "text": "TEXT_COLUMN",
    "text_pair": "PAIR_COLUMN",
    "choices": "CHOICES_COLUMNS",
    "label": "LABEL_COLUMN",
}
_INDEX = re.compile(r"[+-]?[0-9]{1,9}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a file hold what.

    Attributes:
        text: str.
        text_pair: str, or None.
        choices: None, a tuple of at least two columns, or the one column of a
            JSONL file that holds a list.
        label: str.
        is_score: bool. Whether labels are numbers to be predicted.
    """

    text: str
    text_pair: str | None = None
    choices: str | tuple | None = None
    label: str
    is_score: bool = False


class Row(typing.NamedTuple):
    """An example and the line of the file it begins on."""

    line: int
    example: examples.Example


def read_rows(path, columns, *, is_labelled):
    """Read a `.tsv`, `.csv` or `.jsonl` file.

    Args:
        path: path of the file.
        columns: `Columns`.
        is_labelled: bool. Whether every row must have a label; otherwise the
            column may be missing or empty, and the label is None.

    Returns:
        list of `Row`.

    Raises:
        InputError: the file or one of its rows is not as it should be.
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
    if isinstance(columns.choices, str) and (
        table.path.suffix.lower() != ".jsonl"
    ):
        raise errors.InputError(
            f"{table.path} has one column of choices, {columns.choices!r}: give"
            f" one for each, CHOICES_COLUMNS = ('choice_0', 'choice_1'), or a"
            " .jsonl file with a list"
        )
    if isinstance(columns.choices, tuple) and len(columns.choices) < 2:
        raise errors.InputError(
            f"CHOICES_COLUMNS is {columns.choices}: give at least two columns"
        )
    for field, macro in _MACROS.items():
        wanted = getattr(columns, field)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for name in wanted:
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
        name = columns.text_pair
        text_pair = _text(values.get(name), name)
    choices = _choices(values, columns.choices)
    label = values.get(columns.label)
    if label is None or (isinstance(label, str) and not label.strip()):
        if is_labelled:
            raise rows_lib.BadRow(
                f"{columns.label!r} is empty: give it a label, or remove the"
                " line"
            )
        return examples.Example(text, text_pair, choices)
    if choices:
        label = _choice_label(_word_label(label, columns.label), choices)
    elif columns.is_score:
        label = _score_label(label)
    else:
        label = _word_label(label, columns.label)
    return examples.Example(text, text_pair, choices, label)


def _text(value, name):
    try:
        return rows_lib.text_of(value, repr(name))
    except rows_lib.BadRow as error:
        raise rows_lib.BadRow(
            f"{error}: give it a text, or remove the line"
        ) from None


def _choices(values, names):
    if names is None:
        return ()
    if isinstance(names, tuple):
        return tuple(_text(values.get(name), name) for name in names)
    listed = values.get(names)
    if not isinstance(listed, list):
        raise rows_lib.BadRow(
            f"{names!r} is not a list but {_short(listed)}: write the choices"
            ' as ["...", "..."]'
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
            f"label {_short(label)} is {number} of the choices:"
            " give the text of one choice, or its index from 0"
        )
    return choices.index(label)


def _score_label(label):
    try:
        score = float(label)
    except (TypeError, ValueError):
        score = math.nan
    if isinstance(label, bool) or not math.isfinite(score):
        raise rows_lib.BadRow(
            f"label {_short(label)} is not a number: give a score"
        )
    return score


def _word_label(label, name):
    if isinstance(label, bool | int | float):
        return json.dumps(label)
    return _text(label, name)


def _short(value):
    written = repr(value)
    return written if len(written) <= 40 else f"{written[:37]}..."


# -----------------------------------------------------------------------------
# The user's own TSV, CSV or JSONL files as a benchmark's three splits.


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
        columns: `custom.Columns`.
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
        checks.check("seed", seed, checks.Seed)
        if dev is not None:
            checks.check("dev", dev, checks.Path)
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
            _warn(few_to_score(path, self._parts[data_dir][1]))
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
        rows: list of labelled `custom.Row`.
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
        name = text_key(row.example)
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
