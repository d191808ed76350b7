"""TSV, CSV and JSONL files whose columns have names.

- `.tsv`: fields between tabs, without quoting, as in the GLUE files; the
  first line names the columns.
- `.csv`: fields between commas, quoted where they hold commas, quotes or line
  breaks; the first line names the columns. Where it holds no comma but a
  semicolon or a tab, as spreadsheets write in many countries, that is taken.
- `.jsonl`: one JSON object per line.

All are UTF-8, with or without a byte order mark. Blank lines are skipped.
"""

import csv
import dataclasses
import io
import json
import pathlib

from gpt1_keras import errors


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


def read(path):
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
