"""Rows of text files with tabs, commas or JSON lines; examples from rows.

`text_lines`, `tab_separated`, `comma_separated` and `json_lines` yield
`(line, row)` with the line number counted from 1, and a `BadRow` for a row that
cannot be parsed. Files are UTF-8, with or without a byte order mark; blank
lines are skipped.
"""

import csv
import io
import math
import pathlib
import re
import sys

from absl import logging

from gpt1_keras import errors
from gpt1_keras import files

TOLERATED_SHARE = 0.01  # of bad rows in a file; one is always tolerated
NOT_UTF8 = "not UTF-8"
_NUM_REPORTED = 5
_is_name = re.compile(r"[^!?]{0,40}(?<!\.)").fullmatch  # of a column
# How a file begins, as `lines` decodes it -> what it is.
_FOREIGN = {
    "\x1f\udc8b|PK\3\4": "compressed: unpack it (spreadsheets: save as .csv)",
    "\udcff\udcfe|\udcfe\udcff": "UTF-16: save it as UTF-8",
}


def find_file(data_dir, folders, *names):
    """Return the path of the first of `names` in `folders` of `data_dir`."""
    root = pathlib.Path(data_dir)
    places = [root / folder / name for name in names for folder in folders]
    for path in places:
        if path.exists():
            return path
    raise errors.InputError(
        f"{places[0]} does not exist: put the official files there, or set"
        " `data_dir` to the folder that holds them"
    )


class StandardInput:
    """All of standard input, in place of the path of a file.

    `suffix` is inferred: ".jsonl" if the content begins like a JSON object or
    list; ".tsv" if the first line has a tab; ".csv" if `has_columns` or the
    first line names `column` and looks like a header; else ".txt", one text on
    each line.
    """

    def __init__(self, column, has_columns):
        if sys.stdin.isatty():
            logging.info("reading rows from the terminal until Ctrl-D")
        self._content = sys.stdin.buffer.read()
        text = self._content.decode("utf-8-sig", errors="replace").lstrip()
        text = re.sub('^"?sep=[,;]"?\\s+', "", text)  # a line for Excel
        first = re.split("[\r\n]", text, maxsplit=1)[0]
        names = [name.strip(' "') for name in re.split("[,;]", first)]
        if re.match(r'\{|\[\s*["{\[]', text):
            self.suffix = ".jsonl"
        elif "\t" in first:
            self.suffix = ".tsv"
        elif has_columns or (column in names and all(map(_is_name, names))):
            self.suffix = ".csv"
        else:
            self.suffix = ".txt"
        if self.suffix != ".txt" or column in names:
            logging.info(
                f"{self} is read as {self.suffix}, judging by its first line"
                f" {errors.shortened(repr(first))}; if that is wrong, save it"
                " as a file with the right ending (.txt: one text on each line)"
            )

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
        substitute: example that replaces a bad row; None skips bad rows.

    Raises:
        InputError: there is no good row, or the bad rows are more than one and
            more than `TOLERATED_SHARE` of all.
    """
    remedy = "skipped" if substitute is None else "read as empty"
    examples, total, bad = [], 0, []
    for place, example in parsed(rows, parse):
        total += 1
        if isinstance(example, BadRow):
            if isinstance(place, int):
                place = f"{source} line {place}"
            bad.append(f"{place}: {example}")
            if len(bad) <= _NUM_REPORTED:
                logging.warning(f"{bad[-1]}; {remedy}")
            example = substitute
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


def parsed(rows, parse):
    """Yield (place, `parse(row)`); the latter is a `BadRow` if that fails."""
    for place, row in rows:
        if not isinstance(row, BadRow):
            try:
                row = parse(row)
            except BadRow as error:
                row = error
        yield place, row


def text_lines(path):
    """Yield (line, text without line end); carriage returns become spaces."""
    for line, text in enumerate(lines(path), 1):
        if problem := _misfit(text):
            yield line, BadRow(problem)
        elif text.strip():
            yield line, text.rstrip("\r\n").replace("\r", " ")


def tab_separated(path):
    """Yield (line, list of str) of a file with tabs and without quoting."""
    return parsed(text_lines(path), lambda text: text.split("\t"))


def comma_separated(path, **dialect):
    """Yield (line, list of str) of a quoted file; fields may have line breaks.

    `dialect` has arguments of `csv.reader`.
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(lines(path), **dialect)
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
        if problem := _misfit(text):
            yield line, BadRow(problem)
        elif text.strip():
            yield line, row


def json_lines(path):
    """Yield (line, dict) of a file with one JSON object on each line."""
    return parsed(text_lines(path), parse_json)


def parse_json(text):
    """Return the JSON object in `text` (str or bytes), or raise BadRow."""
    try:
        return files.parse_json(text, **files.FINITE)
    except ValueError as error:
        raise BadRow(str(error)) from None


def named(path, rows, names=None):
    """Name the fields of rows by the header, or by `names` if there is none.

    With the header `a b`:

        ["1", "x"]   ->   {"a": "1", "b": "x"}
        ["2"]        ->   BadRow: 1 column, not 2

    `path` is for messages, `rows` an iterator of (line, list of str or
    `BadRow`). Returns the list of names, and an iterator of (line, dict or
    `BadRow`). Raises InputError if the header is unreadable or repeats a name.
    """
    if names is None:
        line, header = next(rows, (1, []))
        if isinstance(header, BadRow):
            is_utf8 = str(header) != NOT_UTF8
            remedy = "correct it" if is_utf8 else "save the file as UTF-8"
            raise errors.InputError(
                f"{path} line {line}: {header}; {remedy}, with the names of"
                " its columns on the first line"
            )
        names = [name.strip() for name in header]
        # Spreadsheets leave columns without a name at the end.
        twice = [name for name in names if name and names.count(name) > 1]
        if twice:
            raise errors.InputError(
                f"{path} line {line} names column {twice[0]!r} twice: rename"
                " one of them"
            )

    def by_name(row):
        if len(row) != len(names):
            columns = "1 column" if len(row) == 1 else f"{len(row)} columns"
            raise BadRow(f"{columns}, not {len(names)}")
        return dict(zip(names, row))

    return names, parsed(rows, by_name)


def text_of(value, name):
    """Return a text without surrounding whitespace, or raise BadRow."""
    if not isinstance(value, str):
        problem = "missing" if value is None else "not text"
        raise BadRow(f"{name} is {problem}")
    if not _is_unicode(value):
        raise BadRow(f"{name} is not valid UTF-8")
    value = value.strip()
    if not value:
        raise BadRow(f"{name} is empty")
    return value


def number_of(value):
    """Return a value as a float; NaN if it is not a number."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def label_of(value, class_names):
    """Return a label that is one of the class names, or raise BadRow."""
    label = text_of(value, "label")
    if label not in class_names:
        raise BadRow(f"label {label!r} is not one of {', '.join(class_names)}")
    return label


def lines(path):
    """Yield the lines of a file with their ends.

    Lines end with a line feed, or with a carriage return in files without line
    feeds and in CSV, where a quoted text may hold line feeds.
    """
    newline = "" if path.suffix.lower() == ".csv" else "\n"
    try:
        if isinstance(path, pathlib.Path) and path.is_fifo():
            raise errors.InputError(
                f"{path} is a named pipe, which can be read only once: give a"
                " file, or for predictions pipe it into '-'"
            )
        # Bytes that are not UTF-8 become surrogates, which _is_unicode finds.
        file = path.open(
            encoding="utf-8-sig", errors="surrogateescape", newline=newline
        )
    except OSError as error:
        raise errors.InputError(
            f"{path} cannot be read ({error.strerror}): check the path"
        ) from None
    with file:
        first = next(file, "")
        for start, problem in _FOREIGN.items():
            if re.match(start, first):
                raise errors.InputError(f"{path} is {problem}")
        # In files of old Macs, this is the whole content.
        newline = "\n" if first.endswith("\n") else ""
        yield from io.StringIO(first, newline=newline)
        yield from file


def _misfit(text):
    """Return what is wrong with the characters of a line, or None."""
    if not _is_unicode(text):
        return NOT_UTF8
    return "a NUL character (UTF-16?)" if "\0" in text else None


def _is_unicode(text):
    return text.isascii() or not re.search("[\ud800-\udfff]", text)
