"""Rows of a file with named columns as labelled examples.

What a label is depends on the columns:

- with choices, a whole number is the index of the right choice, counted from
  0, also where the choices are numbers themselves; anything else is the text
  of the right choice;
- a score is a finite number;
- otherwise a label is the name of a class. JSON's numbers, `true` and `false`
  become the words JSON writes.
"""

import dataclasses
import json
import math
import re
import typing

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import bad_rows
from gpt1_keras.data.readers import named_columns
from gpt1_keras.data.readers import rows as rows_lib

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


def read(path, columns, *, is_labelled):
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
    table = named_columns.read(path)
    _check_names(table, columns, is_labelled)
    rows = []
    for line, values in table.rows:
        try:
            rows.append(Row(line, _example(values, columns, is_labelled)))
        except bad_rows.BadRow as error:
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
            raise bad_rows.BadRow(
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
    except bad_rows.BadRow as error:
        raise bad_rows.BadRow(
            f"{error}: give it a text, or remove the line"
        ) from None


def _choices(values, names):
    if names is None:
        return ()
    if isinstance(names, tuple):
        return tuple(_text(values.get(name), name) for name in names)
    listed = values.get(names)
    if not isinstance(listed, list):
        raise bad_rows.BadRow(
            f"{names!r} is not a list but {_short(listed)}: write the choices"
            ' as ["...", "..."]'
        )
    if len(listed) < 2:
        raise bad_rows.BadRow(f"{len(listed)} choices: give at least two")
    return tuple(_text(choice, names) for choice in listed)


def _choice_label(label, choices):
    if _INDEX.fullmatch(label):
        if not 0 <= int(label) < len(choices):
            raise bad_rows.BadRow(
                f"label {label} for {len(choices)} choices: give the index"
                f" of the right one, 0 to {len(choices) - 1}"
            )
        return int(label)
    if choices.count(label) != 1:
        number = "several" if label in choices else "none"
        raise bad_rows.BadRow(
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
        raise bad_rows.BadRow(
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
