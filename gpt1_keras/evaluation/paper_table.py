"""Results beside the paper's (tables 2 to 5), as Markdown."""

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


def markdown(results):
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
