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

from absl import logging

from gpt1_keras import errors

# -----------------------------------------------------------------------------
# Where the official files of a benchmark lie below DATA_DIR.

SPLITS = ("train", "dev", "test")


def find_file(data_dir, names):
    """Return the first of the files or folders `names` that exists.

    Args:
        data_dir: path of DATA_DIR.
        names: list of str, paths below it, the usual one first.

    Raises:
        InputError: there is none of them.
    """
    for name in names:
        path = pathlib.Path(data_dir, name)
        if path.exists():
            return path
    raise errors.InputError(
        f"{pathlib.Path(data_dir, names[0])} does not exist: put the official"
        " files there, or set DATA_DIR to the folder that holds them"
    )


def check_split(split, known=SPLITS):
    """Raise InputError unless `split` is one of `known`."""
    if split not in known:
        raise errors.InputError(
            f"split {split!r} is none of {', '.join(known)}: take one of them"
        )


# -----------------------------------------------------------------------------
# Rows that cannot be read, and a limit on how many there may be.

# More unreadable rows than this share of a file, and than one, stop the run.
TOLERATED_SHARE = 0.01
_NUM_REPORTED = 5


class BadRow(Exception):
    """A row that cannot be read; the message is the reason, in a few words."""


class BadRows:
    """Reports unreadable rows and stops the run when there are many.

    The first few are reported with their place, the rest by their number.

    Args:
        source: path of the file or folder the rows come from.
        remedy: str. What is done with such a row.
    """

    def __init__(self, source, remedy="left out"):
        self._source = source
        self._remedy = remedy
        self._first = None
        self._count = 0

    def add(self, place, reason):
        """Count a row; `place` is where it stands: "data.tsv line 3"."""
        self._first = self._first or f"{place}: {reason}"
        self._count += 1
        if self._count <= _NUM_REPORTED:
            logging.warning("%s: %s; %s", place, reason, self._remedy)

    def check(self, total):
        """Compare with the number of all rows, good and bad.

        Raises:
            InputError: there is no row, no good row, or more than
                `TOLERATED_SHARE` of all rows and more than one are bad.
        """
        if total == 0:
            raise errors.InputError(
                f"{self._source} has no rows: take the official file"
            )
        tolerated = min(max(1, int(TOLERATED_SHARE * total)), total - 1)
        if self._count > tolerated:
            raise errors.InputError(
                f"{self._first}; {self._count} of {total} rows cannot be read:"
                " take the official file"
            )
        if self._count > _NUM_REPORTED:
            logging.warning(
                "%s: %d of %d rows cannot be read; %s",
                *(self._source, self._count, total, self._remedy),
            )


# -----------------------------------------------------------------------------
# Rows of text files: tabs, commas or JSON lines, and rows to examples.


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
    bad = BadRows(path, remedy)
    examples, total = [], 0
    for line, row in rows:
        total += 1
        try:
            if isinstance(row, BadRow):
                raise row
            example = parse(row)
        except BadRow as error:
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
            text if isinstance(text, BadRow) else text.split("\t"),
        )


def json_lines(path):
    """Yield (line, dict) of a file with one JSON object per line."""
    for line, text in _lines(path):
        yield (
            line,
            text if isinstance(text, BadRow) else parse_json(text),
        )


def parse_json(text):
    """Return the dict that `text` (str or bytes) holds, or a `BadRow`."""
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        return BadRow(f"no JSON ({error})")
    return row if isinstance(row, dict) else BadRow("no JSON object")


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
            row = BadRow(f"no CSV ({error})")
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
    if isinstance(header, BadRow):
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
        if not isinstance(row, BadRow):
            if len(row) == len(header):
                row = [None if i is None else row[i] for i in indices]
            else:
                row = wrong_width(row, len(header))
        yield line, row


def wrong_width(row, width):
    """Return the `BadRow` of a list that should have `width` fields."""
    return BadRow(f"{_columns(len(row))}, not {width}")


def text_of(value, name):
    """Return a text without blanks around it.

    Raises:
        BadRow: it is empty or no text at all.
    """
    if not isinstance(value, str):
        raise BadRow(f"{name} is no text")
    value = value.strip()
    if not value:
        raise BadRow(f"{name} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise BadRow(f"{name} holds half a character (\\ud800 ..)") from None
    return value


def label_of(value, words):
    """Return `value` if it is one of the label words.

    Raises:
        BadRow: it is another.
    """
    if value not in words:
        raise BadRow(f"label {value!r} is none of {', '.join(words)}")
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
                yield line, BadRow(f"not UTF-8 ({error.reason})")
                continue
            if text.strip():
                yield line, text


# -----------------------------------------------------------------------------
# How many rows the official files have, and a warning where others lie.

# A folder with this file holds generated sample data of any size.
SAMPLE_MARK = "sample_benchmarks.json"

# Examples as the readers return them; 0: there is no such split. SNLI without
# the rows that have no gold label, Story Cloze after the paper's split of its
# validation file. Releases differ by a row or two: QQP's train.tsv has three
# rows with an empty question and some twenty broken lines.
# fmt: off
OFFICIAL = {
    #                     train      dev     test
    "snli":            (549_367,   9_842,   9_824),
    "mnli":            (392_702,       0,       0),
    "mnli matched":          (0,   9_815,   9_796),
    "mnli mismatched":       (0,   9_832,   9_847),
    "qnli":            (104_743,   5_463,   5_463),
    "rte":               (2_490,     277,   3_000),
    "scitail":          (23_596,   1_304,   2_126),
    "race":             (87_866,   4_887,   4_934),
    "story_cloze":       (1_497,     374,   1_871),
    "mrpc":              (3_668,     408,   1_725),
    "qqp":             (363_846,  40_430, 390_965),
    "stsb":              (5_749,   1_500,   1_379),
    "sst2":             (67_349,     872,   1_821),
    "cola":              (8_551,   1_043,   1_063),
    "wnli":                (635,      71,     146),
    "ax":                    (0,       0,   1_104),
    # The zero-shot probes' own.
    "dprd":              (1_322,       0,     564),
    "pdp":                   (0,       0,      60),
    "wsc":                   (0,       0,     273),
    "lambada":               (0,   4_869,   5_153),
}
# fmt: on


def official_row_count(name, split):
    """Return the number of examples in a split, 0 if there is none."""
    return OFFICIAL[name][SPLITS.index(split)]


def check_row_count(data_dir, path, name, split, count):
    """Warn if `count` is not the official one; sample data has its own.

    Args:
        data_dir: path of DATA_DIR.
        path: path of the file or folder that was read.
        name: str, key of `OFFICIAL`.
        split: str.
        count: int. Examples that were read.
    """
    expected = official_row_count(name, split)
    if count == expected or pathlib.Path(data_dir, SAMPLE_MARK).exists():
        return
    logging.warning(
        "%s: %d examples, the official %s %s has %d",
        *(path, count, name, split, expected),
    )
