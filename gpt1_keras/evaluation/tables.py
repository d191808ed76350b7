"""Tables as data, for HTML and Markdown, and the text of their cells.

Shares are in percent; unknown values are empty cells.
"""

import dataclasses
import html
import re

_LONG = 40  # characters that a phone does not show in a line
_NUMBER = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?")


@dataclasses.dataclass(frozen=True)
class Cell:
    """Text of a cell, empty where there is none, with small print below."""

    text: str
    note: str = ""
    is_code: bool = False

    def note_lines(self):
        """Return the small print in parts that do not wrap."""
        return self.note.split("; ") if self.note else []

    @property
    def is_long(self):
        """Whether the text is a sentence, which needs some width."""
        return not self.is_code and len(self.text) > _LONG

    @property
    def is_number(self):
        """Whether the text is a number, aligned to the right."""
        return _NUMBER.fullmatch(self.text) is not None


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of `Cell` or str, with sentences (`notes`) below it."""

    title: str
    header: list
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def cells(self):
        """Return the rows with every str as a `Cell`."""
        return [
            [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
            for row in self.rows
        ]

    def number_columns(self):
        """Return the indices of the columns that hold numbers only."""
        columns = list(zip(*self.cells()))
        return {
            i
            for i, column in enumerate(columns)
            if any(cell.is_number for cell in column)
            and all(cell.is_number or not cell.text for cell in column)
        }


def from_dicts(title, rows, notes=()):
    """Return a `Table` of dicts {column: cell}.

    The columns are those of the first row; later ones may leave some out.
    """
    header = list(rows[0]) if rows else []
    cells = [[row.get(name, "") for name in header] for row in rows]
    return Table(title, header, cells, list(notes))


def markdown(table):
    """Return a `Table` in Markdown, its title in bold, ending in a newline."""
    cells = [[_markdown(cell) for cell in row] for row in table.cells()]
    lines = [
        f"| {' | '.join(map(escape, table.header))} |",
        "|" + "---|" * len(table.header),
        *(f"| {' | '.join(row)} |" for row in cells),
    ]
    # No note becomes a list.
    notes = [
        re.sub(r"^(\d*)([-+.)])", r"\1\\\2", escape(n)) for n in table.notes
    ]
    parts = [f"**{escape(table.title)}**", "\n".join(lines), *notes]
    return "\n\n".join(parts) + "\n"


def _markdown(cell):
    text = code(cell.text) if cell.is_code else escape(cell.text)
    return f"{text} ({escape(cell.note)})" if cell.note else text


def escape(text):
    """Return Markdown that shows any text as it is, also in a cell."""
    special = r"([\\`*\[\]~$#]|(?<![^\W_])_|_(?![^\W_]))"
    text = re.sub(special, r"\\\1", one_line(text))
    return html.escape(text, quote=False).replace("|", "&#124;")


def code(text):
    """Return Markdown that shows a text as code, `escape` where it cannot."""
    text = one_line(text)
    is_safe = text and not re.search(r"[`|]", text)
    return f"`{text}`" if is_safe else escape(text)


def one_line(text):
    """Return a text with a space for line breaks and control characters."""
    control = r"[\0-\x1f\x7f-\x9f\u2028\u2029]"
    return " ".join(re.sub(control, " ", text).split())


_TASKS = {
    "cola": "CoLA",
    "sst2": "SST-2",
    "mrpc": "MRPC",
    "stsb": "STS-B",
    "qqp": "QQP",
    "mnli": "MNLI",
    "qnli": "QNLI",
    "rte": "RTE",
    "wnli": "WNLI",
    "ax": "AX",
    "snli": "SNLI",
    "scitail": "SciTail",
    "race": "RACE",
    "story_cloze": "Story Cloze",
    "dprd": "DPRD",
    "wsc": "WSC273",
    "pdp": "PDP",
    "lambada": "LAMBADA",
}
# Metrics that are shares (or correlations), shown in percent, also those of
# a group such as `accuracy_middle`.
_SHARES = {
    "f1": "F1",
    "macro_f1": "macro F1",
    "matthews": "Matthews",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "accuracy": "accuracy",
    "auc": "AUC",
}
_MORE_SHARES = ("positive_share", "glue_average", "glue_official_average")
_DATA = {True: "sample", False: "official", None: ""}


def task_name(task):
    """`story_cloze` -> `Story Cloze`; an unknown name stays as it is."""
    return _TASKS.get(task, task)


def metric_name(metric):
    """`accuracy_middle` -> `accuracy, middle`; `num_last` -> `num last`."""
    name, _, group = metric.partition("_")
    if metric in _SHARES:
        return _SHARES[metric]
    if name not in _SHARES:
        return metric.replace("_", " ")
    return f"{_SHARES[name]}, {group}" if group else _SHARES[name]


def is_share(metric):
    """Whether a metric is a share or correlation, shown in percent."""
    known = (*_SHARES, *_MORE_SHARES)
    return metric in known or metric.partition("_")[0] in _SHARES


def metric_value(metric, value):
    """Return a metric as text: shares in percent, others as they are."""
    return percent(value) if is_share(metric) else number(value)


# Texts of values; None is "".


def percent(value):
    return "" if value is None else f"{100 * value:.1f}"


def span(metric, pair):
    """Return (lowest, highest) of a metric."""
    return " to ".join(metric_value(metric, value) for value in pair or ())


def count(value):
    """Return a whole number with separators."""
    return "" if value is None else f"{value:,}"


def number(value):
    """Return four significant digits, or a whole number."""
    if value is None:
        return ""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def path(found, note=""):
    return Cell(str(found), note, is_code=True)


def over_seeds(result, metric, middle="median"):
    """Return the cell of a metric, with range and number of seeds below.

    `result` is a `comparison.Result` or None; `middle` is "median", as in
    `result.json`, or "mean", as in table 5.
    """
    if result is None:
        return ""
    text = metric_value(metric, getattr(result, middle)(metric))
    pair = result.span(metric)
    if pair is None:
        return Cell(text, "1 seed" if text else "")
    seeds = len(result.values(metric))
    return Cell(text, f"{span(metric, pair)}; {seeds} seeds")


def data(run):
    """Return whether a `comparison.Run` has official or generated data."""
    return _DATA[run.is_sample]


def sample_title(title, are_samples):
    """Return a title that says where data were generated (`Run.is_sample`)."""
    found = set(are_samples)
    if True not in found:
        return title
    return f"{title} ({'' if found == {True} else 'partly '}sample data)"


def sample_notes(names):
    """Return a list with the note on generated data, [] without any."""
    names = sorted(set(names))
    return [f"Generated sample data: {', '.join(names)}."] if names else []
