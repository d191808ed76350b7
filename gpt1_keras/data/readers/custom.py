"""The user's own TSV, CSV or JSONL files as the splits of a benchmark.

Columns have names; TSV is not quoted, CSV is. A `.txt` file has no columns but
a text on each line, for predictions. Unlike the official files, these
are to be repaired by their owner: all rows that cannot be used are listed at
once, with line and column, and stop the run, or are skipped if the user wants
that. What is merely suspicious, such as rare classes or repeated texts, is a
warning.
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
from gpt1_keras import files
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import rows as rows_lib

BadRows = typing.Annotated[str, checks.Dial(choices=("stop", "skip"))]
_LABEL = "label"  # the usual column of labels
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
_MOST_LISTED = 20  # findings
_WIDEST = 24  # characters of a column's name in a list


class Finding(typing.NamedTuple):
    """What is wrong in a row, and what to do.

    `line` counts from 1; `column` is "" for the whole row. A row that `is_bad`
    cannot be used; any other is only suspicious.
    """

    line: int
    what: str
    column: str = ""
    is_bad: bool = True


class Table(typing.NamedTuple):
    """The rows of a file.

    Attributes:
        names: list of str, the columns in order of appearance.
        rows: list of (line number from 1, dict from name to value). Values
            are str, or any JSON value; a JSONL row has only its own names.
        findings: list of `Finding`, of the rows that cannot be parsed.
    """

    path: pathlib.Path | rows_lib.StandardInput
    names: list
    rows: list
    findings: list


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a file, by what they hold.

    `choices` is a tuple of at least two columns, or the one column of a JSONL
    file that holds a list. `is_score`: labels are numbers to be predicted.
    Without `label`, no column is read as one.
    """

    text: str
    text_pair: str | None = None
    choices: str | tuple | None = None
    label: str | None
    is_score: bool = False


class Known(typing.NamedTuple):
    """What the rows of a task have in common; () or None: nothing."""

    class_names: tuple = ()
    score_range: tuple | None = None
    num_choices: int | None = None


def read_table(path, text="text"):
    """Read a `.tsv`, `.csv`, `.jsonl` or `.txt` file into a `Table`.

    Args:
        path: path, or `rows.StandardInput`.
        text: str, what the only column of a `.txt` file is called.

    Raises:
        InputError: the file is missing, empty or of another kind, or its
            header cannot be used.
    """
    if not isinstance(path, rows_lib.StandardInput):
        path = pathlib.Path(path)
    kind = path.suffix.lower()
    names, rows, findings = None, [], []
    if kind == ".jsonl":
        advice = "write one JSON object on each line"
        lines = rows_lib.json_lines(path)
    elif kind in (".tsv", ".csv"):
        lines, advice = _separated(path, kind)
        line, header = next(lines, (1, []))
        if isinstance(header, rows_lib.BadRow):
            reason = _advised(header, advice)
            raise errors.InputError(f"{path} line {line}: {reason}")
        names = [name.strip() for name in header]
        # Spreadsheets leave columns without a name at the end.
        twice = [name for name in names if name and names.count(name) > 1]
        if twice:
            raise errors.InputError(
                f"{path} line {line} names column {twice[0]!r} twice: rename"
                " one"
            )
    elif kind == ".txt":
        names = [text]
        advice = f"name the columns in the first line, {text!r} among them"
        lines = rows_lib.text_lines(path)
    else:
        raise errors.InputError(
            f"{path} has an unknown ending: give a .tsv, .csv or .jsonl file,"
            " or for predictions a .txt file"
        )
    for line, row in lines:
        if isinstance(row, list) and len(row) != len(names):
            row = rows_lib.wrong_width(row, len(names))
        if isinstance(row, rows_lib.BadRow):
            findings.append(Finding(line, _advised(row, advice)))
        else:
            rows.append((line, dict(zip(names, row) if names else row)))
    if not rows and not findings:
        raise errors.InputError(f"{path} has no rows: add examples to it")
    names = names or list(dict.fromkeys(n for _, row in rows for n in row))
    return Table(path, names, rows, findings)


def _separated(path, kind):
    """Return an iterator of a file's rows, and advice for its mistakes."""
    if kind == ".tsv":
        advice = "texts with tabs or line breaks need a .csv"
        return rows_lib.tab_separated(path), advice
    # Spreadsheets write other delimiters in other countries.
    _, header = next(rows_lib.tab_separated(path), (1, []))
    header = header if isinstance(header, list) else []
    delimiter = next((c for c in ",;\t" if c in "\t".join(header)), ",")
    name = {",": "commas", ";": "semicolons", "\t": "tabs"}[delimiter]
    advice = f'quote texts with {name}, quotes (as "") or line breaks'
    rows = rows_lib.comma_separated(path, delimiter=delimiter, strict=True)
    return rows, advice


def _advised(bad, advice):
    if str(bad) == rows_lib.NOT_UTF8:
        advice = "save the file as UTF-8"
    return f"{bad}; {advice}"


def read_rows(
    path, columns, *, is_labelled, known=None, check=None, skipped=None
):
    """Read the file of a `Table` as a list of Example.

    Args:
        path: path, or `rows.StandardInput`.
        columns: `Columns`.
        is_labelled: every row must have a label; otherwise the column may be
            missing or empty, and the label is None.
        known: `Known` of the task, as `misfits` takes it; None: with the
            number of choices of most rows.
        check: function from the examples to further findings, or None.
        skipped: list to which unusable rows are added as (file, line, column,
            what is wrong, text), all str; None: they stop the run.

    Raises:
        InputError: rows cannot be used, after all of them were listed; or
            none is left; or a column is missing.
    """
    table = read_table(path, columns.text)
    if table.names:
        _check_names(table, columns, is_labelled)
    findings, examples = [*table.findings], []
    for line, values in table.rows:
        found = len(findings)
        example = _example(line, values, columns, is_labelled, findings)
        if len(findings) == found:
            examples.append(example)
    if known is None or known.num_choices is None:
        counts = collections.Counter(len(row.choices) for row in examples)
        usual = max(counts, key=counts.get, default=0)
        known = (known or Known())._replace(num_choices=usual)
    findings += misfits(examples, known, columns.label)
    if check is not None:
        findings += check(examples)
    return _settle(table, examples, sorted(findings), skipped)


def _settle(table, examples, findings, skipped):
    """Report the findings; return the examples that can be used."""
    path, bad = table.path, [each for each in findings if each.is_bad]
    lines = {finding.line for finding in bad}
    num_rows = len(table.rows) + len(table.findings)
    is_skipped = skipped is not None and len(lines) < num_rows
    if bad and is_skipped:
        texts = _texts(table)
        for line, what, column, _ in bad:
            skipped.append((str(path), str(line), column, what, texts[line]))
        # A quote that is not closed may have swallowed many lines.
        num_lines = sum(texts[line].count("\n") + 1 for line in lines)
        of_file = f" ({num_lines:,} lines)" if num_lines > len(lines) else ""
        logging.warning(
            f"{path}: skipping {len(lines):,} of {_rows(num_rows)}{of_file};"
            f" the first is line {bad[0].line}: {bad[0].what}"
        )
        findings = [finding for finding in findings if not finding.is_bad]
    if len(findings) > 1:
        logging.warning(listed(path, findings))
    elif findings and not findings[0].is_bad:
        logging.warning(f"{path} line {findings[0].line}: {findings[0].what}")
    if bad and not is_skipped:
        what = f" line {bad[0].line}: {bad[0].what}"
        if len(lines) > 1:
            what = (
                f": {len(lines):,} of {num_rows:,} rows cannot be used, listed"
                f" above; the first is{what}"
            )
        if len(lines) < num_rows:
            what += ", or set `bad_rows` to 'skip'"
        raise errors.InputError(f"{path}{what}")
    return [example for example in examples if example.line not in lines]


def listed(path, findings):
    """Return findings as a table of lines, columns and what is wrong."""
    rows = [("line", "column", "what")]
    for line, what, column, is_bad in findings[:_MOST_LISTED]:
        what = what.removeprefix(f"{column!r} ")
        what = what if is_bad else f"only a warning: {what}"
        rows.append((str(line), column[:_WIDEST], what))
    width = max(len(column) for _, column, _ in rows)
    num_rows = len({finding.line for finding in findings})
    lines = [f"{path}: {len(findings):,} findings in {_rows(num_rows)}"]
    for line, column, what in rows:
        row = f"{line:>9}  {column:<{width}}  {what}"
        lines.append(errors.one_line(row))
    if len(findings) > _MOST_LISTED:
        lines.append(f"{'':>9}  and {len(findings) - _MOST_LISTED:,} more")
    return "\n".join(lines)


def _texts(table):
    """Return {line: the text of the row that begins there}."""
    starts = [line for line, *_ in (*table.rows, *table.findings)]
    starts.sort()
    ends = [*(start - 1 for start in starts[1:]), None]
    is_csv = table.path.suffix.lower() == ".csv"
    lines = rows_lib.raw_lines(table.path, is_csv=is_csv)
    return {
        start: "".join(lines[start - 1 : end]).strip("\r\n")
        for start, end in zip(starts, ends)
    }


def report_skipped(skipped, folder):
    """Write the rows that `read_rows` skipped to `skipped_rows.tsv`, if any.

    Texts are escaped as in `files.escape_line`.
    """
    if not skipped:
        return
    path = pathlib.Path(folder) / "skipped_rows.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        "\t".join(map(files.escape_line, row)) + "\n"
        for row in (("file", "line", "column", "what", "row"), *skipped)
    ]
    content = "".join(lines).encode("utf-8", "backslashreplace")
    files.write_atomic(path, content)
    logging.warning(f"skipped rows: {path}")


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
    lacking = {}
    for field, macro in _MACROS.items():
        wanted = getattr(columns, field)
        for name in wanted if isinstance(wanted, tuple) else (wanted,):
            # A test file may lack the usual column, not one that was named.
            is_optional = field == "label" and name == _LABEL
            is_needed = name is not None and (is_labelled or not is_optional)
            if is_needed and name not in table.names:
                lacking[name] = macro
    if not lacking:
        return
    found = ", ".join(repr(name) for name in table.names if name)
    dials = " and ".join(dict.fromkeys(lacking.values()))
    if table.path.suffix.lower() == ".txt":
        advice = (
            "name the columns in its first line, and the first text's with"
            f" TEXT_COLUMN, now {columns.text!r}"
        )
    else:
        advice = f"rename what you have or set {dials}"
    if "LABEL_COLUMN" in lacking.values() and not is_labelled:
        advice += " (None: the rows have no labels)"
    if columns.text in lacking and not (columns.text_pair or columns.choices):
        advice += ", and PAIR_COLUMN if there are two texts"
    raise errors.InputError(
        f"{table.path} has no column {' and no '.join(map(repr, lacking))} but"
        f" {found}: {advice}"
    )


def _example(line, values, columns, is_labelled, findings):
    """Return a row as an Example; what is wrong with it goes to `findings`."""

    def read(function, *arguments):
        try:
            return function(*arguments)
        except rows_lib.BadRow as error:
            findings.append(Finding(line, str(error), error.column))
            return None

    text = read(_text, values.get(columns.text), columns.text)
    text_pair = ""
    if columns.text_pair is not None:
        text_pair = values.get(columns.text_pair)
        text_pair = read(_text, text_pair, columns.text_pair)
    choices = read(_choices, values, columns.choices)
    label = None
    if choices is not None:
        label = read(_label, values, columns, choices, is_labelled)
    given = {k: v for k, v in values.items() if k != columns.label}
    return examples_lib.Example(
        text, text_pair, choices, label, line=line, given=given
    )


def is_empty(value):
    return value is None or (isinstance(value, str) and not value.strip())


def _label(values, columns, choices, is_labelled):
    name = columns.label
    label = values.get(name)
    if is_empty(label):
        if is_labelled:
            raise rows_lib.BadRow(
                f"{name!r} is empty: add a label, or remove the line", name
            )
        return None
    if columns.is_score and not choices:
        return _score(label, name)
    if isinstance(label, bool | int | float):
        label = json.dumps(label)
    label = _text(label, name)
    return _choice_label(label, choices, name) if choices else label


def _text(value, name):
    try:
        return rows_lib.text_of(value, repr(name))
    except rows_lib.BadRow as error:
        raise rows_lib.BadRow(
            f"{error}: correct it, or remove the line", name
        ) from None


def _choices(values, names):
    if names is None:
        return ()
    if isinstance(names, tuple):
        return tuple(_text(values.get(name), name) for name in names)
    found = values.get(names)
    if not isinstance(found, list):
        raise rows_lib.BadRow(
            f"{names!r} is not a list but {errors.shortened(repr(found))}:"
            ' write the choices as ["...", "..."]',
            names,
        )
    if len(found) < 2:
        raise rows_lib.BadRow(f"{len(found)} choices: give at least two", names)
    return tuple(_text(choice, names) for choice in found)


def _choice_label(label, choices, column):
    if _INDEX.fullmatch(label):
        if not 0 <= int(label) < len(choices):
            raise rows_lib.BadRow(
                f"label {label} for {len(choices)} choices: give the index"
                f" of the right one, 0 to {len(choices) - 1}",
                column,
            )
        return int(label)
    if choices.count(label) != 1:
        number = "several" if label in choices else "none"
        raise rows_lib.BadRow(
            f"label {errors.shortened(repr(label))} is {number} of the choices:"
            " give the text of one choice, or its index from 0",
            column,
        )
    return choices.index(label)


def _score(label, column):
    try:
        score = float(label)
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if isinstance(label, bool) or not math.isfinite(score):
        raise rows_lib.BadRow(
            f"label {errors.shortened(repr(label))} is not a number: give a"
            " score",
            column,
        )
    return score


class Splits(typing.NamedTuple):
    """The user's files: {split: list of Example}, and what they have in common.

    `skipped` is that of `read_rows`.
    """

    examples: dict
    known: Known
    skipped: list | None

    def read(self, data_dir, split):
        """Return the examples of "train", "dev" or "test": a task's reader.

        Those of "test" may have label None. `data_dir` is not used.
        """
        if split == "test" and split not in self.examples:
            raise errors.InputError("no test file is given: set TEST_FILE")
        return self.examples[split]


def read_splits(
    data_dir=None,
    *,
    train,
    dev=None,
    test=None,
    columns,
    dev_fraction,
    seed,
    low=None,
    high=None,
    bad_rows="stop",
):
    """Read and check up to three files of the user; return `Splits`.

    Without a dev file, `dev_fraction` of the train file is held out: this
    share of each class, all rows of the same text on one side, and the same
    rows for the same `seed`. Rows of a test file need no labels. `low` and
    `high` are the lowest and the highest possible score; None takes that of
    `train`. `bad_rows`: "stop" at rows that cannot be used, or "skip" them.
    Relative paths are below `data_dir`, or the current folder if it is None.
    """
    has_classes = not (columns.choices or columns.is_score)
    skipped = [] if bad_rows == "skip" else None

    def check(rows):
        """Return what is wrong with the labels of training rows."""
        if columns.is_score and rows:
            known = _known(rows, columns, low, high)
            return misfits(rows, known, columns.label)
        found = spellings(rows, columns.label) if has_classes else []
        if has_classes and dev is None:
            rare = {finding.line for finding in found if finding.is_bad}
            others = [row for row in rows if row.line not in rare]
            found += lone_texts(others, columns.label)
        return found

    train = pathlib.Path(data_dir or "", train)
    rows = read_rows(
        train, columns, is_labelled=True, check=check, skipped=skipped
    )
    warn_of_repetitions(train, rows)
    known = _known(rows, columns, low, high)
    _check_known(train, known)
    if has_classes:
        warn_of_imbalance(train, rows)
    examples = {"train": rows}
    for split, path in (("dev", dev), ("test", test)):
        if path is not None:
            path = pathlib.Path(data_dir or "", path)
            examples[split] = read_rows(
                path,
                columns,
                is_labelled=split == "dev",
                known=known,
                skipped=skipped,
            )
            warn_of_repetitions(path, examples[split])
            warn_of_overlap(train, rows, path, examples[split])
        elif split == "dev":
            path = train
            held_out = _hold_out(train, rows, has_classes, dev_fraction, seed)
            for name in ("train", "dev"):
                examples[name] = [
                    row
                    for i, row in enumerate(rows)
                    if (i in held_out) == (name == "dev")
                ]
        if split == "dev":
            warn_of_few(path, examples[split])
    return Splits(examples, known, skipped)


def _known(rows, columns, low, high):
    """Return the `Known` of training rows."""
    if columns.choices:
        return Known(num_choices=len(rows[0].choices))
    labels = sorted({row.label for row in rows})
    if not columns.is_score:
        return Known(class_names=tuple(labels))
    low = labels[0] if low is None else low
    return Known(score_range=(low, labels[-1] if high is None else high))


def _check_known(path, known):
    """Refuse training labels that are all the same."""
    low, high = known.score_range or (0, 1)
    if not low < high:
        raise errors.InputError(
            f"{path} has scores from {low} to {high}: set `custom.low`"
            " below `custom.high`, or set LABEL_COLUMN"
        )
    if len(known.class_names) == 1:
        raise errors.InputError(
            f"{path} has only the class {known.class_names[0]!r}: add"
            " rows of another class, or set LABEL_COLUMN"
        )


def _hold_out(path, rows, has_classes, fraction, seed):
    """Return the indices of the training rows that are held out, a set."""
    generator = np.random.default_rng(seed)
    held_out = set()
    for _, texts in sorted(_strata(rows, has_classes).items()):
        groups = list(texts.values())
        if len(groups) < 2:
            raise errors.InputError(
                f"{path} has one text in all, so none can be held out: add"
                " more, or give a DEV_FILE"
            )
        count = min(max(round(fraction * len(groups)), 1), len(groups) - 1)
        for i in generator.permutation(len(groups))[:count]:
            held_out.update(groups[i])
    return held_out


def _strata(rows, has_classes):
    """Return {label of the first row with a text: {text: its rows}}.

    Rows are given by their index. Without classes, there is one stratum.
    """
    strata = collections.defaultdict(dict)
    stratum_of = {}
    for i, row in enumerate(rows):
        name = _text_key(row)
        label = stratum_of.setdefault(name, row.label if has_classes else "")
        strata[label].setdefault(name, []).append(i)
    return strata


def _text_key(example):
    """Return what makes two examples the same."""
    return example.text, example.text_pair, example.choices


def _rows(count):
    return f"{count:,} row{'s' * (count != 1)}"


def _plain(label):
    """Return a label without case and spaces."""
    return "".join(label.casefold().split())


# What is wrong with rows; `column` is the label's.


def misfits(rows, known, column):
    """Return the findings in rows that differ from a `Known`."""
    plain = {_plain(name): name for name in known.class_names}
    low, high = known.score_range or (None, None)
    found = []
    for row in rows:
        if known.num_choices not in (None, len(row.choices)):
            what = (
                f"{len(row.choices)} choices, other rows have"
                f" {known.num_choices}: give every row the same number"
            )
            found.append(Finding(row.line, what))
        elif row.label is None:
            continue
        elif known.class_names and row.label not in known.class_names:
            advice = "correct it, or add such training rows"
            if _plain(row.label) in plain:
                advice = f"write it {plain[_plain(row.label)]!r}"
            what = f"label {row.label!r}, which no training row has: {advice}"
            found.append(Finding(row.line, what, column))
        elif known.score_range and not low <= row.label <= high:
            what = (
                f"score {row.label}, outside {low} to {high}: correct it, or"
                " set `custom.low` and `custom.high`"
            )
            found.append(Finding(row.line, what, column))
    return found


def spellings(rows, column):
    """Find labels that differ from a commoner one only in case or spaces.

    A row that has such a label alone cannot be used.
    """
    counts = collections.Counter(row.label for row in rows)
    first = {row.label: row.line for row in reversed(rows)}
    usual, found = {}, []
    for label, count in counts.most_common():
        common = usual.setdefault(_plain(label), label)
        if common != label:
            what = (
                f"label {label!r} ({_rows(count)}) differs only in case or"
                f" spaces from {common!r} ({_rows(counts[common])}): write"
                " both alike"
            )
            found.append(Finding(first[label], what, column, count == 1))
    return found


def lone_texts(rows, column):
    """Find the rows of a class that has one text, so none to hold out.

    Raises:
        InputError: they are most of the rows, so the labels are no classes.
    """
    strata = _strata(rows, has_classes=True)
    lone = {label for label, texts in strata.items() if len(texts) < 2}
    found = [
        Finding(
            row.line,
            f"one text of class {row.label!r}, so none can be held out: add"
            " more, remove it, or give a DEV_FILE",
            column,
        )
        for row in rows
        if row.label in lone
    ]
    if 2 * len(found) > len(rows):
        raise errors.InputError(
            f"column {column!r} has {len(lone):,} classes with one text each,"
            f" in {_rows(len(rows))}: set LABEL_COLUMN to a column of classes,"
            " or add texts"
        )
    return found


# Warnings about a whole file.


def warn_of_imbalance(path, rows):
    """Warn about a class with under 10 % of the largest class's rows."""
    ranked = collections.Counter(row.label for row in rows).most_common()
    (_, most), (smallest, fewest) = ranked[0], ranked[-1]
    if fewest < _RARE * most:
        line = next(row.line for row in rows if row.label == smallest)
        counts = ", ".join(f"{name!r} {count}" for name, count in ranked)
        logging.warning(
            f"{path}: the classes are imbalanced: {counts} rows (line {line}"
            f" is the first of {smallest!r}); accuracy says little"
        )


def warn_of_few(path, rows):
    """Warn about a dev split whose scores are mostly chance."""
    if len(rows) < _FEW:
        logging.warning(
            f"{path}: the dev split has only {len(rows)} rows, so one row is"
            f" {100 / len(rows):.1f} % of accuracy: the choice of the best"
            " epoch and comparisons of models are mostly chance"
        )


def warn_of_repetitions(path, rows):
    """Warn about rows that repeat an earlier one, whatever their labels."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[_text_key(row)].append(row)
    repeated = [group for group in groups.values() if len(group) > 1]
    if not repeated:
        return
    count = sum(map(len, repeated)) - len(repeated)
    first, second = repeated[0][:2]
    logging.warning(
        f"{path}: repeated texts: {len(repeated)}, in {count} of {len(rows)}"
        f" rows (line {second.line} repeats line {first.line})"
    )
    contradicting = []
    for group in repeated:
        labelled = [row for row in group if row.label is not None]
        others = [row for row in labelled if row.label != labelled[0].label]
        contradicting += [(labelled[0], others[0])] if others else []
    if contradicting:
        first, other = contradicting[0]
        logging.warning(
            f"{path}: repeated texts with contradictory labels:"
            f" {len(contradicting)} (line {first.line} {first.label!r},"
            f" line {other.line} {other.label!r})"
        )


def warn_of_overlap(train_path, train_rows, path, rows):
    """Warn about dev or test rows whose text is in the train file."""
    lines = {_text_key(row): row.line for row in reversed(train_rows)}
    shared = [row for row in rows if _text_key(row) in lines]
    if shared:
        line = lines[_text_key(shared[0])]
        logging.warning(
            f"{path}: rows that are also in {train_path}: {len(shared)} of"
            f" {len(rows)} (line {shared[0].line} is its line {line}); scores"
            " will be too high"
        )
