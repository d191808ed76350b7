"""Rows of text files: tabs, commas or JSON lines, and rows to examples.

The three formats yield `(line number from 1, row)`; in place of a row that
cannot be told apart they yield a `BadRow`:

- `tab_separated`: list of str; no quoting, a quote is a character like any
  other, as in the GLUE files;
- `comma_separated`: list of str; with quoting, also of line breaks;
- `json_lines`: dict.

Files are UTF-8, with or without a byte order mark. Blank lines are skipped.
"""

import csv
import io
import json
import pathlib

from gpt1_keras import errors
from gpt1_keras.data.readers import bad_rows


def collect(path, rows, parse, *, substitute=None):
    """Turn the rows of a file into examples.

    Args:
        path: path of the file, for messages.
        rows: iterable of (line, row or `BadRow`).
        parse: function from a row to an example, or to None for a row that
            is to be left out; raises `BadRow`.
        substitute: example that stands for a bad row, where every row needs a
            prediction; None leaves bad rows out.

    Returns:
        list of examples.

    Raises:
        InputError: too many rows are bad (`BadRows.check`).
    """
    remedy = "left out" if substitute is None else "taken as empty"
    bad = bad_rows.BadRows(path, remedy)
    examples, total = [], 0
    for line, row in rows:
        total += 1
        try:
            if isinstance(row, bad_rows.BadRow):
                raise row
            example = parse(row)
        except bad_rows.BadRow as error:
            bad.add(f"{path} line {line}", error)
            example = substitute
        if example is not None:
            examples.append(example)
    bad.check(total)
    return examples


def tab_separated(path):
    """Yield (line, list of str) of a file with tabs and no quoting."""
    for line, text in _lines(path):
        yield (
            line,
            text if isinstance(text, bad_rows.BadRow) else text.split("\t"),
        )


def json_lines(path):
    """Yield (line, dict) of a file with one JSON object per line."""
    for line, text in _lines(path):
        yield (
            line,
            text if isinstance(text, bad_rows.BadRow) else parse_json(text),
        )


def parse_json(text):
    """Return the dict that `text` (str or bytes) holds, or a `BadRow`."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        return bad_rows.BadRow(f"no JSON ({error})")
    return row if isinstance(row, dict) else bad_rows.BadRow("no JSON object")


def comma_separated(path):
    """Yield (line, list of str) of a file with commas and quoting.

    Raises:
        InputError: the file is not UTF-8.
    """
    line = 1
    with _open(path) as binary:
        content = binary.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line += content.count(b"\n", 0, error.start)
        raise errors.InputError(
            f"{path} line {line} is not UTF-8: save the file as UTF-8"
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""))
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = bad_rows.BadRow(f"no CSV ({error})")
        if row:
            yield line, row
        line = reader.line_num + 1


def select(path, rows, columns, *, optional=()):
    """Keep the named columns of rows below a header.

    `columns=("b", "c"), optional=("d",)` with the header `a b c`:

        ["1", "x", "y"]   ->   ["x", "y", None]
        ["2", "x"]        ->   BadRow: 2 columns, not 3

    Args:
        path: path of the file, for messages.
        rows: iterable of (line, list of str or `BadRow`), the header first.
        columns: names that must be there.
        optional: names that need not be there.

    Yields:
        (line, list of str or None by `columns` and `optional`, or `BadRow`).

    Raises:
        InputError: the header lacks a column.
    """
    rows = iter(rows)
    line, header = next(rows, (1, []))
    if isinstance(header, bad_rows.BadRow):
        raise errors.InputError(
            f"{path} line {line}: {header}; take the official file"
        )
    header = [name.strip() for name in header]
    for name in columns:
        if name not in header:
            raise errors.InputError(
                f"{path} line {line} names no column {name!r} but"
                f" {', '.join(map(repr, header)) or 'nothing'}: take the"
                " official file"
            )
    indices = [
        header.index(name) if name in header else None
        for name in (*columns, *optional)
    ]
    for line, row in rows:
        if not isinstance(row, bad_rows.BadRow):
            if len(row) == len(header):
                row = [None if i is None else row[i] for i in indices]
            else:
                row = wrong_width(row, len(header))
        yield line, row


def wrong_width(row, width):
    """Return the `BadRow` of a list that should have `width` fields."""
    return bad_rows.BadRow(f"{_columns(len(row))}, not {width}")


def text_of(value, name):
    """Return a text without blanks around it.

    Raises:
        BadRow: it is empty or no text at all.
    """
    if not isinstance(value, str):
        raise bad_rows.BadRow(f"{name} is no text")
    value = value.strip()
    if not value:
        raise bad_rows.BadRow(f"{name} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise bad_rows.BadRow(
            f"{name} holds half a character (\\ud800 ..)"
        ) from None
    return value


def label_of(value, words):
    """Return `value` if it is one of the label words.

    Raises:
        BadRow: it is another.
    """
    if value not in words:
        raise bad_rows.BadRow(f"label {value!r} is none of {', '.join(words)}")
    return value


def _columns(number):
    return "1 column" if number == 1 else f"{number} columns"


def _open(path):
    try:
        return open(path, "rb")
    except OSError as error:
        raise errors.InputError(
            f"{pathlib.Path(path)} cannot be read ({error.strerror}): take the"
            " official file"
        ) from None


def _lines(path):
    # Bytes, so that only \n ends a line: texts hold other characters that
    # str.splitlines and text files take for breaks.
    with _open(path) as file:
        for line, content in enumerate(file, 1):
            if line == 1:
                content = content.removeprefix(b"\xef\xbb\xbf")
            try:
                text = content.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                yield line, bad_rows.BadRow(f"not UTF-8 ({error.reason})")
                continue
            if text.strip():
                yield line, text
