"""What results are as cells of a table; "" for what is not there."""

from gpt1_keras.evaluation import paper_table
from gpt1_keras.evaluation import tables

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
        return tables.Cell(text, "1 seed" if text else "")
    low, high = (metric_value(metric, value) for value in span)
    return tables.Cell(
        text, f"{low} to {high}; {len(result.values(metric))} seeds"
    )


def metric_value(name, value):
    """Return a metric as text: shares in percent, others as they are."""
    return paper_table.percent(value) if name in SHARES else number(value)


def data(run):
    """Return whether a `workdirs.Run` has official or generated data."""
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
    return tables.Cell(str(found), note, is_code=True)
