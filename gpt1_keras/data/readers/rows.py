"""Rows of text files with tabs, commas or JSON lines, and rows as examples.

`tab_separated`, `comma_separated` and `json_lines` yield `(line, row)` with
the line number counted from 1. A row that cannot be parsed is yielded as a
`BadRow`. Files are UTF-8, with or without a byte order mark; blank lines are
skipped.
"""

import csv
import io
import pathlib
import re
import sys

from absl import logging

from gpt1_keras import errors
from gpt1_keras import files

SPLITS = ("train", "dev", "test")
# A folder with this file holds generated sample data of any size.
SAMPLE_MARK = "sample_benchmarks.json"
# The run stops if more rows than this share of a file (and more than one) are
# bad.
TOLERATED_SHARE = 0.01
NOT_UTF8 = "not UTF-8"
_NUM_REPORTED = 5
_LONGEST_FIELD = 2**31 - 1


def find_file(data_dir, names):
    """Return the first existing file or folder of `names` below `data_dir`."""
    for name in names:
        path = pathlib.Path(data_dir, name)
        if path.exists():
            return path
    raise errors.InputError(
        f"{pathlib.Path(data_dir, names[0])} does not exist: put the official"
        " files there, or set `data_dir` to the folder that holds them"
    )


def check_split(name, split, known):
    """Refuse a split of a benchmark that is not one of `known`."""
    if split not in known:
        raise errors.InputError(
            f"{name} has no split {split!r}, only {' and '.join(known)}: choose"
            " another split or benchmark"
        )


def check_row_count(data_dir, name, split, count, expected):
    """Warn where a count differs from the official one, but of sample data."""
    is_sample = pathlib.Path(data_dir, SAMPLE_MARK).exists()
    if count != expected and not is_sample:
        logging.warning(
            f"{data_dir}: {count} {split} examples of {name}, the official"
            f" files have {expected}"
        )


class StandardInput:
    """Standard input, all of it, in place of the path of a file.

    `suffix` is that of a file with the same content: ".jsonl" if it begins
    with a brace, or a bracket and what JSON has next; ".tsv" if its first line
    has a tab; ".csv" if it names `column` or `has_columns`; else ".txt", a text
    on each line.
    """

    def __init__(self, column, has_columns):
        if sys.stdin.isatty():
            logging.info("reading rows from the terminal until Ctrl-D")
        self._content = sys.stdin.buffer.read()
        text = self._content.decode("utf-8-sig", errors="replace").lstrip()
        text = re.sub('^"?sep=[,;]"?\\s+', "", text)  # a note to Excel
        first = text.partition("\n")[0]
        names = [name.strip(' \r"') for name in re.split("[,;]", first)]
        if re.match(r'\{|\[\s*["{\[]', text):
            self.suffix = ".jsonl"
        elif "\t" in first:
            self.suffix = ".tsv"
        else:
            is_table = has_columns or column in names
            self.suffix = ".csv" if is_table else ".txt"

    def __str__(self):
        return "standard input"

    def open(self, **options):
        return io.TextIOWrapper(io.BytesIO(self._content), **options)


class BadRow(Exception):
    """A row that cannot be read, and why."""


def collect(source, rows, parse, *, substitute=None):
    """Turn rows of official files into a list of examples; log bad ones.

    Args:
        source: path of the file or folder, for messages.
        rows: iterable of (place, row or `BadRow`); a place is the number of a
            line, or a str such as "1.txt question 2".
        parse: function from a row to an example, or to None if the row is not
            wanted; may raise `BadRow`.
        substitute: example that replaces a bad row where every row needs a
            prediction; None skips bad rows.

    Raises:
        InputError: there is no row, no good one, or more than
            `TOLERATED_SHARE` of them (and more than one) are bad.
    """
    remedy = "skipped" if substitute is None else "read as empty"
    examples, total, bad = [], 0, []
    for place, row in rows:
        total += 1
        try:
            if isinstance(row, BadRow):
                raise row
            example = parse(row)
        except BadRow as error:
            example = substitute
            if isinstance(place, int):
                place = f"{source} line {place}"
            bad.append(f"{place}: {error}")
            if len(bad) <= _NUM_REPORTED:
                logging.warning(f"{bad[-1]}; {remedy}")
        if example is not None:
            examples.append(example)
    if total == 0:
        raise errors.InputError(f"{source} has no rows: use the official file")
    tolerated = min(max(1, int(TOLERATED_SHARE * total)), total - 1)
    if len(bad) > tolerated:
        raise errors.InputError(
            f"{bad[0]}; {len(bad)} of {total} rows cannot be read: use the"
            " official file"
        )
    if len(bad) > _NUM_REPORTED:
        logging.warning(
            f"{source}: {len(bad)} of {total} rows cannot be read; {remedy}"
        )
    return examples


def tab_separated(path):
    """Yield (line, list of str) of a file with tabs and no quoting.

    As in the GLUE files, a quote is a character like any other.
    """
    # csv takes a carriage return within a line for an error.
    lines = (line.rstrip("\r\n").replace("\r", " ") for line in _lines(path))
    yield from _parse(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def comma_separated(path, **dialect):
    """Yield (line, list of str) of a file with quoting, also of line breaks.

    `dialect` is as of `csv.reader`: commas by default.
    """
    with _open(path, newline="") as file:
        yield from _parse(file, **dialect)


def json_lines(path):
    """Yield (line, dict) of a file with one JSON object on each line."""
    for line, text in enumerate(_lines(path), 1):
        if "\0" in text or not _is_unicode(text):  # NUL: UTF-16
            yield line, BadRow(NOT_UTF8)
        elif text.strip():
            yield line, parse_json(text)


def raw_lines(path, *, is_csv):
    """Return the lines of a file, with their ends, as the readers count them.

    In CSV, a carriage return ends a line as well.
    """
    if not is_csv:
        return list(_lines(path))
    with _open(path, newline="") as file:
        return list(file)


def parse_json(text):
    """Return the dict that `text` (str or bytes) holds, or a `BadRow`."""
    try:
        return files.parse_json(text, **files.FINITE)
    except ValueError as error:
        return BadRow(str(error))


def select(path, rows, columns, *, optional=(), header=None):
    """Yield the named columns of the rows below a header.

    `columns=("b", "c"), optional=("d",)` with the header `a b c`:

        ["1", "x", "y"]   ->   ["x", "y", None]
        ["2", "x"]        ->   BadRow: 2 columns, not 3

    `rows` are (line, list of str or `BadRow`), the header first unless it is
    given. It must have the required `columns`.
    """
    rows = iter(rows)
    line, header = (0, header) if header else next(rows, (1, []))
    if isinstance(header, BadRow):
        raise errors.InputError(
            f"{path} line {line}: {header}; use the official file"
        )
    header = [name.strip() for name in header]
    for name in columns:
        if name not in header:
            raise errors.InputError(
                f"{path} line {line} names no column {name!r} but"
                f" {', '.join(map(repr, header)) or 'nothing'}: use the"
                " official file"
            )
    indices = [
        header.index(name) if name in header else None
        for name in (*columns, *optional)
    ]
    for line, row in rows:
        if not isinstance(row, BadRow):
            if len(row) == len(header):
                row = [None if i is None else row[i] for i in indices]
            else:
                row = wrong_width(row, len(header))
        yield line, row


def wrong_width(row, width):
    """Return the `BadRow` of a list that should have `width` fields."""
    columns = "1 column" if len(row) == 1 else f"{len(row)} columns"
    return BadRow(f"{columns}, not {width}")


def text_of(value, name):
    """Return a text without surrounding whitespace, or raise BadRow."""
    if not isinstance(value, str):
        raise BadRow(f"{name} is not text")
    if not _is_unicode(value):
        raise BadRow(f"{name} is not valid UTF-8")
    value = value.strip()
    if not value:
        raise BadRow(f"{name} is empty")
    return value


def label_of(value, class_names):
    """Return a label that is one of the class names, or raise BadRow."""
    if value not in class_names:
        raise BadRow(f"label {value!r} is not one of {', '.join(class_names)}")
    return value


def _lines(path):
    """Yield lines: a line feed ends them, or a carriage return without any."""
    with _open(path, newline="\n") as file:
        first = next(file, "")
        # Of files of old Macs, this is all.
        newline = "\n" if first.endswith("\n") else ""
        yield from io.StringIO(first, newline=newline)
        yield from file


def _open(path, newline):
    try:
        # Bytes that are not UTF-8 become surrogates, which _is_unicode finds.
        return path.open(
            encoding="utf-8-sig",
            errors="surrogateescape",
            newline=newline,
        )
    except OSError as error:
        raise errors.InputError(
            f"{path} cannot be read ({error.strerror}): check the path"
        ) from None


def _parse(lines, **dialect):
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(lines, **dialect)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, BadRow(f"invalid CSV ({error})")
            continue
        text = "".join(row)
        if "\0" in text or not _is_unicode(text):  # NUL: UTF-16
            row = BadRow(NOT_UTF8)
        elif not any(map(str.strip, row)):
            continue
        yield line, row


def _is_unicode(text):
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
