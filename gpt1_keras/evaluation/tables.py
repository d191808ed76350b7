"""Tables as data, for HTML and Markdown alike."""

import dataclasses
import re

# -----------------------------------------------------------------------------
# Tables as data, for HTML and Markdown alike.

_LONG = 40  # characters that a phone does not show in a line
_NUMBER = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?")


@dataclasses.dataclass(frozen=True)
class Cell:
    """Text of a cell.

    Attributes:
        text: str, empty where there is nothing.
        note: str, small print below it.
        is_code: bool. A path or a setting.
    """

    text: str
    note: str = ""
    is_code: bool = False

    def note_lines(self):
        """Return the small print in parts that stay on a line."""
        return self.note.split("; ") if self.note else []

    @property
    def is_long(self):
        """Whether the text is a sentence, which needs some width."""
        return not self.is_code and len(self.text) > _LONG

    @property
    def is_number(self):
        """Whether the text is a number, set to the right."""
        return _NUMBER.fullmatch(self.text) is not None


@dataclasses.dataclass(frozen=True)
class Table:
    """A table with its caption.

    Attributes:
        title: str.
        header: list of str.
        rows: list of lists of `Cell` or str, as long as the header.
        notes: list of str, sentences below it.
    """

    title: str
    header: list
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def cells(self):
        """Return the rows with a `Cell` everywhere."""
        return [
            [cell if isinstance(cell, Cell) else Cell(cell) for cell in row]
            for row in self.rows
        ]

    def number_columns(self):
        """Return the indices of the columns of numbers, set to the right."""
        columns = list(zip(*self.cells()))
        return {
            i
            for i, column in enumerate(columns)
            if any(cell.is_number for cell in column)
            and all(cell.is_number or not cell.text for cell in column)
        }


def markdown(table):
    """Return a `Table` in Markdown, its title in bold, ending in a newline."""
    cells = [[_markdown(cell) for cell in row] for row in table.cells()]
    lines = [
        f"| {' | '.join(map(_escape, table.header))} |",
        "|" + "---|" * len(table.header),
        *(f"| {' | '.join(row)} |" for row in cells),
    ]
    parts = [f"**{table.title}**", "\n".join(lines), *table.notes]
    return "\n\n".join(parts) + "\n"


def _markdown(cell):
    text = _escape(cell.text)
    if cell.is_code and text:
        text = f"`{text}`"
    return f"{text} ({_escape(cell.note)})" if cell.note else text


def _escape(text):
    return text.replace("|", "\\|").replace("\n", " ")


# -----------------------------------------------------------------------------
# Results beside the paper's (tables 2 to 5), as Markdown.

# Table 5 and its average: the paper's eight GLUE tasks, unweighted.
GLUE = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
_NAMES = {
    "f1": "F1",
    "matthews": "Matthews",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "accuracy": "accuracy",
    "auc": "AUC",
}
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


def main_value(found):
    """Return the value of the paper's metric in a `result.json` dict."""
    return next(iter(found["metrics"].values()))


def glue_average(values):
    """Return the mean of table 5, or None where a task is missing.

    Args:
        values: dict from a task's name to the value of its metric.
    """
    if not all(name in values for name in GLUE):
        return None
    return sum(values[name] for name in GLUE) / len(GLUE)


def paper_markdown(results):
    """Return a table with a row for each metric of each result.

    Args:
        results: list of `result.json` dicts of fine-tuning.

    Returns:
        str: task, metric, ours with its range over seeds, majority, paper.
        Percent; a number that is not there is an empty cell.
    """
    lines = [
        "| task | metric | ours | range | majority | paper | examples | min |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for found in results:
        for i, (name, value) in enumerate(found["metrics"].items()):
            cells = [
                found["task"] if i == 0 else "",
                metric_name(name),
                percent(value),
                span(found.get("range", {}).get(name)),
                percent(found.get("majority", {}).get(name)),
                percent(found["paper"].get(name)),
                f"{found['num_examples']:,}" if i == 0 else "",
                f"{found['seconds'] / 60:.1f}" if i == 0 else "",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    values = {found["task"]: main_value(found) for found in results}
    average = glue_average(values)
    if average is not None:
        paper = {
            found["task"]: next(iter(found["paper"].values()))
            for found in results
            if found["paper"]
        }
        cells = ["GLUE", "mean of eight", percent(average), "", ""]
        cells += [percent(glue_average(paper)), "", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def metric_name(metric):
    """`accuracy_middle` -> `accuracy, middle`; `num_last` -> `num last`."""
    name, _, group = metric.partition("_")
    if name not in _NAMES:
        return metric.replace("_", " ")
    return f"{_NAMES[name]}, {group}" if group else _NAMES[name]


def task_name(task):
    """`story_cloze` -> `Story Cloze`; an unknown name stays as it is."""
    return _TASKS.get(task, task)


def percent(value):
    """Return a share in percent, "" for None."""
    return "" if value is None else f"{100 * value:.1f}"


def span(pair):
    """Return (lowest, highest) in percent, "" for None."""
    return "" if pair is None else f"{percent(pair[0])} to {percent(pair[1])}"


# -----------------------------------------------------------------------------
# What results are as cells of a table; "" for what is not there.

_DATA = {True: "sample", False: "official", None: ""}

# Metrics that are shares (or correlations), shown in percent.
SHARES = frozenset(
    {"accuracy", "matthews", "f1", "pearson", "spearman", "auc"}
    | {"accuracy_matched", "accuracy_mismatched"}
    | {"accuracy_middle", "accuracy_high"}
    | {"positive_share", "matthews_train", "glue_average"}
)


def over_seeds(result, metric, middle="median"):
    """Return a metric; below it its range and number of seeds.

    Args:
        result: `comparison.Result` or None.
        metric: str.
        middle: "median", as in `result.json`, or "mean", as in table 5.
    """
    if result is None:
        return ""
    text = metric_value(metric, getattr(result, middle)(metric))
    span = result.span(metric)
    if span is None:
        return Cell(text, "1 seed" if text else "")
    low, high = (metric_value(metric, value) for value in span)
    return Cell(text, f"{low} to {high}; {len(result.values(metric))} seeds")


def metric_value(name, value):
    """Return a metric as text: shares in percent, others as they are."""
    return percent(value) if name in SHARES else number(value)


def data(run):
    """Return whether a `comparison.Run` has official or generated data."""
    return _DATA[run.is_sample]


def sample_notes(names):
    """Return a list of the sentence on what has generated data, [] of none.

    Args:
        names: iterable of str.
    """
    names = sorted(set(names))
    return [f"Generated sample data: {', '.join(names)}."] if names else []


def count(value):
    """Return a whole number with separators."""
    return "" if value is None else f"{value:,}"


def number(value):
    """Return a number with four digits that count, or as a whole number."""
    if value is None:
        return ""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def path(found, note=""):
    """Return the cell of a path."""
    return Cell(str(found), note, is_code=True)
