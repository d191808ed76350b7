"""Tables as data, for HTML and Markdown, and the text of their cells.

Shares are in percent; unknown values are empty cells.
"""

import dataclasses
import html
import pathlib
import re
import statistics

import jinja2


@dataclasses.dataclass(frozen=True)
class Cell:
    """Text of a cell (may be empty), with small print (`note`) below."""

    text: str
    note: str = ""
    is_code: bool = False

    @property
    def is_number(self):
        """Whether the text is a number, aligned to the right."""
        return bool(re.fullmatch(r"[-+]?[\d,.]+(e[-+]?\d+)?", self.text))


def cell(value):
    """Return any value as a `Cell`: paths as code, None as an empty cell."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, pathlib.Path):
        return path(value)
    return Cell(value if isinstance(value, str) else number(value))


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of values, with sentences (`notes`) below it.

    A row is {column: any value for `cell`}. The columns are those of the first
    row; later rows may omit some.
    """

    title: str
    rows: list
    notes: list = dataclasses.field(default_factory=list)

    def __bool__(self):
        return bool(self.rows)

    @property
    def header(self):
        return list(self.rows[0]) if self.rows else []

    def cells(self):
        """Return the rows as lists of `Cell`."""
        return [[cell(row.get(k)) for k in self.header] for row in self.rows]


def render(template, **values):
    """Return the page of the jinja template (HTML or Markdown) at a path."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        autoescape=".html" in template.suffixes,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"plain": escape, "code": code}
    page = environment.get_template(template.name).render(values)
    return page.rstrip() + "\n"


def escape(text):
    """Return Markdown that shows a text literally, even in a table cell."""
    special = r"([\\`*\[\]~$#]|(?<![^\W_])_|_(?![^\W_]))"
    text = re.sub(special, r"\\\1", unbroken(text))
    return html.escape(text, quote=False).replace("|", "&#124;")


def code(text):
    """Return Markdown that shows a text as code, or escaped if it cannot."""
    text = unbroken(text)
    is_safe = text and not re.search(r"[`|]", text)
    return f"`{text}`" if is_safe else escape(text)


def unbroken(text):
    """Return a text with line breaks and control characters as spaces."""
    control = r"[\0-\x1f\x7f-\x9f\u2028\u2029]"
    return " ".join(re.sub(control, " ", text).split())


# Names of tasks that differ from the code's in case only.
_SAME = "MRPC QQP MNLI QNLI RTE WNLI AX SNLI RACE CoLA SciTail DPRD PDP LAMBADA"
_TASKS = {name.lower(): name for name in _SAME.split()} | {
    "sst2": "SST-2",
    "stsb": "STS-B",
    "story_cloze": "Story Cloze",
    "wsc": "WSC273",
}
# Metrics that are shares (or correlations), shown in percent; also those of a
# group, such as `accuracy_middle`.
_SHARES = {
    "f1": "F1",
    "macro_f1": "macro F1",
    "matthews": "Matthews",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "accuracy": "accuracy",
    "auc": "AUC",
    "positive_share": "positive share",
}


def task_name(task):
    """`story_cloze` -> `Story Cloze`; an unknown name stays as it is."""
    return _TASKS.get(task, task)


def metric_name(metric):
    """`f1_high` -> `F1, high`; `word_perplexity` -> `word perplexity`."""
    name, _, group = metric.partition("_")
    if metric in _SHARES or name not in _SHARES:
        return _SHARES.get(metric, metric.replace("_", " "))
    return f"{_SHARES[name]}, {group}"


def metric_value(metric, value):
    """Return a metric as text: shares in percent, others as they are."""
    known = {metric, metric.partition("_")[0]} & _SHARES.keys()
    return percent(value) if known else number(value)


def percent(value):
    """Return a share in percent with one decimal, None as ""."""
    # Sums of floats may lie just below a half.
    return "" if value is None else f"{round(100 * value, 6):.1f}"


def span(metric, values):
    """Return "lowest to highest" of some values, "" for fewer than two."""
    ends = (min(values), max(values)) if len(values) > 1 else ()
    return " to ".join(metric_value(metric, value) for value in ends)


def number(value):
    """Return a whole number, or four significant digits; None as ""."""
    if value is None:
        return ""
    is_whole = isinstance(value, int) or abs(value) >= 1000
    return f"{value:,.0f}" if is_whole else f"{value:,.4g}"


def path(found, note=""):
    return Cell(str(found), note, is_code=True)


def over_seeds(run, metric, middle=statistics.median, split="dev"):
    """Return the cell of a metric of a `comparison.Run`, its range below."""
    values = run.values(metric, split)
    if not values:
        return ""
    note = f"{span(metric, values)}; {len(values)} seeds"
    note = note if len(values) > 1 else "1 seed"
    return Cell(metric_value(metric, middle(values)), note)


def sample_title(title, runs):
    """Return a title that says if all or some runs used generated data."""
    found = {run.data for run in runs}
    if "sample" not in found:
        return title
    return f"{title} ({'' if len(found) == 1 else 'partly '}sample data)"
