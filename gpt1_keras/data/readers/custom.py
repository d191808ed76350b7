"""The user's own TSV, CSV or JSONL files as the splits of a benchmark.

Columns have names; TSV has no quoting, CSV does. A `.txt` file has a text on
each line, for predictions. All unusable rows are listed at once, with line and
column; they stop the run, or are skipped if the user chooses so. What is only
suspicious, such as repeated texts, causes a warning.
"""

import collections
import dataclasses
import itertools
import json
import pathlib
import re
import typing
import unicodedata

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import rows as rows_lib

BadRows = typing.Literal["stop", "skip"]
_MOST_LISTED = 20  # rows
# How pandas and spreadsheets write a missing value, in small letters. "none" is
# not among them, since many files have such a class.
MISSING = {"nan", "null", "n/a", "#n/a", "<na>", "nat"}
# Doubled quotes between two quotes, as in `"a ""b"" c"`.
_is_quoted = re.compile('"[^"]*(""[^"]*)+"').fullmatch


class Table(typing.NamedTuple):
    """The rows of a file."""

    path: pathlib.Path | rows_lib.StandardInput
    names: list  # of str, the columns in order of appearance
    # (line number from 1, {name: value}). Values are str, or any JSON value; a
    # JSONL row has only its own names.
    rows: list
    bad: dict  # {line: what is wrong}, the rows that cannot be parsed

    def texts(self):
        """Return all texts of the rows, whatever the column."""
        values = [value for _, row in self.rows for value in row.values()]
        lists = [value for value in values if isinstance(value, list)]
        found = itertools.chain(values, *lists)
        return [value for value in found if isinstance(value, str)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns:
    """The names of a file's columns, by what they hold.

    `choices` names a column for each choice, or one JSONL column of lists. With
    `is_score`, labels are numbers. If `label` is None, no labels are read.
    """

    text: str
    text_pair: str | None = None
    choices: tuple = ()
    label: str | None
    is_score: bool = False


class Known(typing.NamedTuple):
    """The labels that rows may have; None where labels are of another kind."""

    class_names: tuple | None = None
    score_range: tuple | None = None


def read_table(path, text="text"):
    """Read a `.tsv`, `.csv`, `.jsonl` or `.txt` file into a `Table`.

    `path` is a `pathlib.Path` or `rows.StandardInput`, `text` the name to give
    to the only column of a `.txt` file. Raises InputError if the file is
    missing, empty or of another type, or its header cannot be used.
    """
    kind, rows, bad = path.suffix.lower(), [], {}
    if kind not in _FORMATS:
        raise errors.InputError(
            f"{path} has an unknown ending: give a .tsv, .csv or .jsonl file,"
            " or for predictions a .txt file"
        )
    read, advice = _FORMATS[kind]
    names, lines = None, read(path)
    if kind in (".tsv", ".csv"):
        names, lines = rows_lib.named(path, lines)
    for line, row in lines:
        if isinstance(row, rows_lib.BadRow):
            is_utf8 = str(row) != rows_lib.NOT_UTF8
            remedy = advice if is_utf8 else "save the file as UTF-8"
            bad[line] = f"{row}; {remedy}"
        elif kind == ".txt":  # It has no columns.
            rows.append((line, {text: row}))
        else:
            rows.append((line, row))
    if not rows and not bad:
        raise errors.InputError(f"{path} has no rows: add examples to it")
    if kind == ".tsv":
        _warn_of_quotes(path, rows)
    names = names or list(dict.fromkeys(n for _, row in rows for n in row))
    return Table(path, names, rows, bad)


def _json_lines(path):
    """Read JSON lines; refuse a list, or an object over several lines."""
    first = str(next(rows_lib.text_lines(path), (1, ""))[1])
    if re.match(r"\s*(\[|\{\s*$)", first):
        raise errors.InputError(
            f"{path} is one JSON value, not a JSON object on each line: write"
            " these, as by df.to_json(path, orient='records', lines=True)"
        )
    return rows_lib.json_lines(path)


def _comma_separated(path):
    """Read a CSV file; its delimiter depends on a spreadsheet's country."""
    first = str(next(rows_lib.text_lines(path), (1, ""))[1])
    delimiter = max(",;\t", key=re.sub('"[^"]*"', "", first).count)
    rows = rows_lib.comma_separated(
        path, delimiter=delimiter, skipinitialspace=True, strict=True
    )
    if re.fullmatch('"?sep=[,;\t]"?', first):  # a line for Excel
        next(rows)
    return rows


# Ending -> reader of its rows, and advice for rows that cannot be parsed.
_FORMATS = {
    ".jsonl": (_json_lines, "write one JSON object on each line"),
    ".tsv": (rows_lib.tab_separated, "tabs and line breaks need a .csv"),
    ".csv": (_comma_separated, 'quote the text, and quotes in it as ""'),
    ".txt": (rows_lib.text_lines, "remove it"),
}


def read_rows(table, columns, *, is_labelled, known=Known(), skipped=None):
    """Return the rows of a `Table` as a list of Example.

    A missing column raises InputError. So do unusable rows, which are logged,
    unless `skipped` is given and other rows are left.

    Args:
        is_labelled: bool. Whether every row must have a label; if not, it is
            None where the column is missing or empty.
        known: `Known`. Rows with other labels cannot be used.
        skipped: list that gets (file, line, problem, text) of unusable rows.
    """
    rows, bad = _examples(table, columns, is_labelled)
    bad |= misfits(rows, known, columns.label)
    return _settle(table, rows, bad, skipped)


def _settle(table, rows, bad, skipped):
    """Refuse or skip the bad rows (see `read_rows`); return the others."""
    if not bad:
        return rows
    path, num_rows = table.path, len(table.rows) + len(table.bad)
    share = f"{len(bad):,} of {num_rows:,} rows"
    line, what = min(bad.items())
    if skipped is not None and len(bad) < num_rows:
        texts = _texts(table)
        skipped += [(str(path), str(i), bad[i], texts[i]) for i in sorted(bad)]
        # A quote that is not closed can make many lines one row.
        num_lines = sum(texts[i].count("\n") + 1 for i in bad)
        more = f" ({num_lines:,} lines)" if num_lines > len(bad) else ""
        logging.warning(
            f"{path}: skipping {share}{more}; the first is line {line}: {what}"
        )
        return [row for row in rows if row.line not in bad]
    above = ""
    if len(bad) > 1:
        shown = [errors.one_line(f"{i:>9}  {bad[i]}") for i in sorted(bad)]
        if num_more := len(shown[_MOST_LISTED:]):
            shown[_MOST_LISTED:] = [f"{'':>9}  and {num_more:,} more"]
        shown = "\n".join(shown)
        logging.warning(f"{path}: {share} cannot be used:\n{shown}")
        above = ", listed above"
    skip = ", or set `bad_rows` to 'skip'" if len(bad) < num_rows else ""
    raise errors.InputError(
        f"{path} line {line}: {what}; {share} cannot be used{above}: correct or"
        f" remove them{skip}"
    )


def _texts(table):
    """Return {line: the text of the row that begins there}."""
    lines = list(rows_lib.lines(table.path))
    starts = sorted([*(line for line, _ in table.rows), *table.bad])
    return {
        start: "".join(lines[start - 1 : end - 1]).strip("\r\n")
        for start, end in itertools.pairwise([*starts, len(lines) + 1])
    }


def report_skipped(skipped, folder):
    """Write skipped rows to `skipped_rows.tsv`; without any, remove it."""
    path = folder / "skipped_rows.tsv"
    path.unlink(missing_ok=True)
    if not skipped:
        return
    rows = [("file", "line", "what", "row"), *skipped]
    lines = ["\t".join(map(files.escape_line, row)) + "\n" for row in rows]
    content = "".join(lines).encode("utf-8", "backslashreplace")
    files.write_atomic(path, content)
    logging.warning(f"skipped rows: {path}")


def _check_names(table, columns, is_labelled):
    """Refuse a table without one of the columns."""
    wanted = {columns.text: "text", columns.text_pair: "text_pair"}
    wanted |= dict.fromkeys(columns.choices, "choices")
    # An unlabelled file may lack the default column "label", but no other one.
    if is_labelled or columns.label != "label":
        wanted[columns.label] = "label"
    lacking = [n for n in wanted if n is not None and n not in table.names]
    if not lacking or not table.names:
        return
    found = ", ".join(repr(name) for name in table.names if name)
    dials = " and ".join(dict.fromkeys(f"`{wanted[n]}`" for n in lacking))
    if columns.label in lacking and not is_labelled:
        dials += " (None: the rows have no labels)"
    raise errors.InputError(
        f"{table.path} has no column {' and no '.join(map(repr, lacking))}"
        f" (found: {found}): rename a column, or set {dials}"
    )


def _examples(table, columns, is_labelled):
    """Return (rows of a `Table` as Example, {line: what is wrong})."""
    _check_names(table, columns, is_labelled)
    rows, bad = [], dict(table.bad)
    for line, values in table.rows:
        try:
            text = _text(values.get(columns.text), columns.text)
            pair = columns.text_pair
            text_pair = _text(values.get(pair), pair) if pair else ""
            choices = _choices(values, columns.choices)
            label = _label(values, columns, choices, is_labelled)
        except rows_lib.BadRow as error:
            bad[line] = str(error)
            continue
        given = {k: v for k, v in values.items() if k != columns.label}
        found = text, text_pair, choices, label
        rows.append(examples_lib.Example(*found, line=line, given=given))
    return rows, bad


def _text(value, name):
    return rows_lib.text_of(value, repr(name))


def _choices(values, names):
    found = [values.get(name) for name in names]
    if len(names) == 1:
        (found,) = found
        if not isinstance(found, list) or len(found) < 2:
            raise rows_lib.BadRow(
                f"{names[0]!r} is {errors.shortened(repr(found))}: give a list"
                " of two or more in a .jsonl file, or a column for each choice"
            )
    return tuple(map(_text, found, itertools.cycle(names)))


def is_empty(value):
    return value is None or (isinstance(value, str) and not value.strip())


def _label(values, columns, choices, is_labelled):
    """Return a class name, a score or the index of the right choice."""
    name, label = columns.label, values.get(columns.label)
    if is_empty(label):
        if is_labelled:
            raise rows_lib.BadRow(f"{name!r} is empty")
        return None
    shown = f"{name!r} is {errors.shortened(repr(label))}"
    if columns.is_score:
        score = rows_lib.number_of(label)
        if not checks.fits(score, float):  # such as a float64's largest
            raise rows_lib.BadRow(
                f"{shown}: give a number up to 9e15, or set `family` when"
                " training"
            )
        return score
    is_number = isinstance(label, bool | int | float)
    if is_number:
        label = json.dumps(label)
    label = _text(label, name)
    if not choices:
        return label
    fitting = {i for i, choice in enumerate(choices) if choice == label}
    if re.fullmatch(r"[+-]?[0-9]{1,9}", label):
        fitting = {int(label)} | (set() if is_number else fitting)
    fitting &= set(range(len(choices)))
    if len(fitting) != 1:
        several = ", which fits more than one choice" if fitting else ""
        how = "as a number in a .jsonl file" if fitting else "or its text"
        raise rows_lib.BadRow(
            f"{shown}{several}: give the index of the right choice, 0 to"
            f" {len(choices) - 1}, {how}"
        )
    return fitting.pop()


def read_splits(
    table,
    *,
    dev=None,
    test=None,
    columns,
    dev_fraction,
    seed,
    low=None,
    high=None,
    skipped=None,
):
    """Read a train `Table` and up to two further files, all with labels.

    Without a dev file, the share `dev_fraction` of each class is held out, all
    rows of the same text on one side; `seed` determines which. `low` and `high`
    are the lowest and the highest possible score; None takes that of the
    training rows. For `skipped`, see `read_rows`. Returns ({split: list of
    Example}, `Known` of the training rows).
    """
    rows, bad = _examples(table, columns, is_labelled=True)
    known = _known(rows, columns, low, high, needs_two=dev is None)
    problem = "which only one text has, so none can be held out"
    bad |= misfits(rows, known, columns.label, problem)
    rows = _settle(table, rows, bad, skipped)
    labels = known.class_names or known.score_range
    if labels and not labels[0] < labels[-1]:
        raise errors.InputError(
            f"{table.path} has only the label {labels[0]!r}: add rows with"
            " another one, or set `label`"
        )
    warn_of_repetitions(table.path, rows)
    if known.class_names:
        warn_of_spellings(table.path, rows)
        warn_of_missing(table.path, rows)
    examples = {"train": rows}
    for split, path in (("dev", dev), ("test", test)):
        if path is not None:
            found = read_table(path, columns.text)
            examples[split] = read_rows(
                found, columns, is_labelled=True, known=known, skipped=skipped
            )
            warn_of_repetitions(path, examples[split])
            warn_of_overlap(table.path, rows, path, examples[split])
    if dev is None:
        examples["train"], examples["dev"] = _hold_out(
            table.path, rows, bool(known.class_names), dev_fraction, seed
        )
    return examples, known


def _known(rows, columns, low, high, needs_two):
    """Return the `Known` of training rows.

    With `needs_two`, a class must have two texts, so that one can be held out.
    """
    labels = {row.label for row in rows}
    if columns.choices or not rows:
        return Known()
    if columns.is_score:
        low = min(labels) if low is None else low
        return Known(score_range=(low, max(labels) if high is None else high))
    if needs_two:
        strata = _strata(rows, has_classes=True)
        labels -= {label for label in strata if len(strata[label]) < 2}
    return Known(class_names=tuple(sorted(labels)))


def _hold_out(path, rows, has_classes, fraction, seed):
    """Return (training rows, held-out rows), both in the file's order."""
    generator = np.random.default_rng(seed)
    held_out = set()
    for _, groups in sorted(_strata(rows, has_classes).items()):
        if len(groups) < 2:
            raise errors.InputError(
                f"{path} has too few texts to hold one out: add more, or give"
                " a file as `dev`"
            )
        count = min(max(round(fraction * len(groups)), 1), len(groups) - 1)
        for i in generator.permutation(len(groups))[:count]:
            held_out.update(row.line for row in groups[i])
    if len(held_out) > max(1, 2 * fraction * len(rows)):
        logging.warning(
            f"{path}: {len(held_out)} of {len(rows)} rows are held out, since"
            " each class needs one: give a dev file to train on all of them"
        )
    train = [row for row in rows if row.line not in held_out]
    return train, [row for row in rows if row.line in held_out]


def _strata(rows, has_classes):
    """Return {label ("" without classes): groups of rows of the same text}."""
    strata = collections.defaultdict(list)
    for group in _by_text(rows).values():
        strata[group[0].label if has_classes else ""].append(group)
    return strata


def _by_text(rows):
    """Return {texts: their rows}, in the file's order.

    Case and white space make no difference, as to the model.
    """
    groups = collections.defaultdict(list)
    for row in rows:
        texts = row.text, row.text_pair, *row.choices
        groups[tuple(" ".join(t.lower().split()) for t in texts)].append(row)
    return groups


def _plain(label):
    """Return a label as far as one sees it, without case; "1.0" as "1"."""
    number = rows_lib.number_of(label)
    label = str(int(number)) if number.is_integer() else label
    label = "".join(unicodedata.normalize("NFKC", label).casefold().split())
    return "".join(c for c in label if unicodedata.category(c) != "Cf")


def misfits(rows, known, column, problem="which no training row has"):
    """Return {line: what is wrong} of rows that do not fit a `Known`.

    The number of choices must be that of most rows. `column` names the label's
    column; `problem` says what is wrong with an unknown class.
    """
    counts = collections.Counter(len(row.choices) for row in rows)
    usual = max(counts, key=counts.get, default=0)
    names = set(known.class_names or ())
    plain = {_plain(name): name for name in names}
    low, high = known.score_range or (None, None)
    bad = {}
    for row in rows:
        if len(row.choices) != usual:
            bad[row.line] = f"{len(row.choices)} choices, most have {usual}"
        elif row.label is None:
            continue
        elif known.class_names is not None and row.label not in names:
            near = plain.get(_plain(row.label))
            advice = "add such training rows, or use another column"
            advice = f"write it {near!r}" if near else advice
            bad[row.line] = f"{column!r} is {row.label!r}, {problem}: {advice}"
        elif known.score_range and not low <= row.label <= high:
            bad[row.line] = (
                f"{column!r} is {row.label}, outside {low} to {high}: in"
                " training, custom.custom.low and custom.custom.high set this"
            )
    return bad


def _warn_of_quotes(path, rows):
    """Warn about fields of a TSV file that look quoted, as by pandas."""
    quoted = [line for line, row in rows if any(map(_is_quoted, row.values()))]
    if quoted:
        logging.warning(
            f"{path}: {len(quoted)} rows seem to be quoted, as in line"
            f" {quoted[0]}; quotes in a .tsv are part of the text: if they"
            " should not be, save the file as .csv"
        )


def warn_of_spellings(path, rows):
    """Warn about classes that `_plain` does not tell apart."""
    spellings = collections.defaultdict(dict)
    for row in rows:
        spellings[_plain(row.label)].setdefault(row.label, row.line)
    for lines in spellings.values():
        if len(lines) > 1:
            shown = ", ".join(f"{k!r} (line {v})" for k, v in lines.items())
            logging.warning(
                f"{path}: classes that differ only in case, spaces, invisible"
                f" characters, Unicode form or notation of a number: {shown}"
            )


def warn_of_missing(path, rows):
    """Warn about class names that usually stand for a missing label."""
    lines = collections.defaultdict(list)
    for row in rows:
        if row.label.casefold() in MISSING:
            lines[row.label].append(row.line)
    for label, found in lines.items():
        logging.warning(
            f"{path}: {label!r}, the label of {len(found):,} rows (the first is"
            f" line {found[0]}), is learned as a class: if it means that the"
            " label is missing, remove these rows"
        )


def warn_of_repetitions(path, rows):
    """Warn about rows that repeat an earlier one, whatever their labels."""
    repeated = [group for group in _by_text(rows).values() if len(group) > 1]
    mixed = [group for group in repeated if len({r.label for r in group}) > 1]
    if repeated:
        first = (mixed or repeated)[0][:9]
        shown = ", ".join(f"line {r.line} {r.label!r}" for r in first)
        logging.warning(
            f"{path}: {len(repeated)} repeated texts, in"
            f" {sum(map(len, repeated))} of {len(rows)} rows; {len(mixed)} of"
            f" them have contradictory labels; such as {shown}"
        )


def warn_of_overlap(train_path, train_rows, path, rows):
    """Warn about dev or test rows whose text is in the train file."""
    train, found = _by_text(train_rows), _by_text(rows)
    shared = [texts for texts in found if texts in train]
    if shared:
        count = sum(len(found[texts]) for texts in shared)
        line, same = (each[shared[0]][0].line for each in (found, train))
        logging.warning(
            f"{path}: {count} of {len(rows)} rows are also in {train_path},"
            f" such as line {line} (there line {same}): scores will be too high"
        )
