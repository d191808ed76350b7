"""Tables 2 to 5 of the paper, with our results beside the paper's."""

import statistics

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

# The eight GLUE tasks of table 5, whose average takes the paper's metrics.
GLUE = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
# In GLUE's official average of nine tasks, 72.8 in table 4, these count with
# the mean of two metrics, the others with their first.
_TWO_METRICS = {
    "mrpc": ("f1", "accuracy"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("f1", "accuracy"),
    "mnli": ("accuracy_matched", "accuracy_mismatched"),
}
# Title -> tasks; gin/paper.gin has their metrics.
_TABLES = {
    "2: natural language inference": "mnli snli scitail qnli rte",
    "3: question answering and commonsense reasoning": "story_cloze race",
    "4: semantic similarity and classification": "cola sst2 mrpc stsb qqp",
}
# Rows of table 5.
ROWS = {
    "full": "Transformer, auxiliary LM (full)",
    "no_pretraining": "Transformer, no pretraining",
    "no_auxiliary_lm": "Transformer, no auxiliary LM",
    "lstm": "LSTM, auxiliary LM",
}
_NOTE = (
    "Percent, median over seeds; majority: baseline (majority class) on dev; "
    "data: official files or generated samples; train, dev, test: numbers of "
    "examples. Weights are chosen on dev, then scored once on test where its "
    "labels are public; the paper's numbers are on test (of GLUE, by its "
    "server)."
)
_SEVERAL = (
    "Of several results of a task, one is shown: official data before samples, "
    "all training examples before some, many seeds before few, then the "
    "newest. The others are under All results."
)
_GLUE_NOTE = (
    "GLUE: the official average of nine tasks, WNLI included; tasks with two "
    "metrics, and MNLI's two dev sets, count with their mean."
)
_NO_RUN = comparison.Run(None, {})  # all its cells are empty


def _mean(values):
    """Return the mean, or None if a value is missing."""
    values = list(values)
    return None if None in values else statistics.fmean(values)


def glue_average(values):
    """Return table 5's average of {task: value}; None if one is missing."""
    return _mean(map(values.get, GLUE))


def glue_averages(runs):
    """Return {"glue_average", "glue_official_average"}, None if incomplete."""
    first = {run.task: run.middle(run.metric) for run in runs}
    official = first | {
        run.task: _mean(map(run.middle, _TWO_METRICS[run.task]))
        for run in runs
        if run.task in _TWO_METRICS
    }
    return {
        "glue_average": glue_average(first),
        "glue_official_average": _mean(map(official.get, (*GLUE, "wnli"))),
    }


def benchmarks(runs, paper):
    """Return the table of the full model on several tasks.

    It has a row for each metric, and for each average of GLUE that is complete.
    `runs` has a run for each task, `paper` is {task: {metric: share}}.
    """
    rows = [row for run in runs for row in _rows(run.task, run, paper)]
    rows += [row for row in _glue_rows(runs, paper) if row["ours, dev"]]
    return _table("Fine-tuning beside the paper", rows, runs, [_NOTE])


def of_the_paper(runs, paper):
    """Return tables 2, 3 and 4; arguments as in `benchmarks`."""
    full = [run for run in runs if run.row == "full"]
    chosen = {task: run for (_, task), run in choose_ablations(full).items()}
    found = []
    for title, names in _TABLES.items():
        tasks, rows, notes = names.split(), [], [_NOTE]
        for task in tasks:
            rows += _rows(task, chosen.get(task, _NO_RUN), paper)
        if "cola" in tasks:
            rows.append(_glue_rows(chosen.values(), paper)[-1])
            notes.append(_GLUE_NOTE)
        there = [chosen[task] for task in tasks if task in chosen]
        if sum(run.task in tasks for run in full) > len(there):
            notes.append(_SEVERAL)
        found.append(_table(f"Table {title}", rows, there, notes))
    return found


def _table(title, rows, runs, notes):
    return tables.Table(tables.sample_title(title, runs), rows, notes)


def _rows(task, run, paper):
    """Return a row for each metric of a task, the paper's first."""
    theirs, found = paper.get(task, {}), run.result
    return [
        {
            "benchmark": tables.task_name(task),
            "metric": tables.metric_name(metric),
            "ours, dev": tables.over_seeds(run, metric),
            "ours, test": tables.over_seeds(run, metric, split="test"),
            "paper, test": tables.percent(theirs.get(metric)),
            "majority": tables.percent(found.get("majority", {}).get(metric)),
            "data": run.data,
            "train": found.get("num_train_examples"),
            "dev": found.get("num_examples"),
            "test": found.get("test", {}).get("num_examples"),
            "workdir": run.path,
        }
        for metric in dict.fromkeys([*theirs, *run.metric_names])
    ]


def _glue_rows(runs, paper):
    """Return the rows of table 5's average and of GLUE's official one."""
    first = {task: next(iter(each.values())) for task, each in paper.items()}
    ours = glue_averages(runs)
    return [
        {
            "benchmark": "GLUE",
            "metric": metric,
            "ours, dev": tables.percent(ours[name]),
            "paper, test": tables.percent(theirs),
        }
        for name, metric, theirs in (
            ("glue_average", "mean of eight (table 5)", glue_average(first)),
            ("glue_official_average", "official average", first.get("glue")),
        )
    ]


def choose_ablations(runs, rows=tuple(ROWS)):
    """Return {(row, task): `comparison.Run`}, a run for each cell of table 5.

    If a task was run in several settings, the row of the full model shows the
    `comparison.preferred` one, other rows the one that differs least from it.
    """
    by_cell, chosen = {}, {}
    for run in runs:
        by_cell.setdefault((run.row, run.task), []).append(run)
    for row in rows:  # the full model first
        for cell, found in by_cell.items():
            if cell[0] == row:
                full = chosen.get(("full", cell[1]))
                chosen[cell] = comparison.preferred(found, full)
    return chosen


def ablation_table(ablations, paper):
    """Return table 5, with our results (`choose_ablations`) above the paper's.

    Its columns are the paper's tasks, then others with an ablation; rows that
    the paper lacks are the last. `paper` is {row: {task: share}}, with
    "average" among the tasks.
    """
    labels = {
        row: row.replace("transferred_", "Layers transferred: ")
        for row in (*ROWS, *(row for row, _ in ablations))
    } | ROWS
    others = {task for row, task in ablations if row != "full"} - set(GLUE)
    tasks, rows = (*GLUE, *sorted(others)), []
    mean = statistics.fmean
    for row, label in labels.items():
        runs = {task: ablations.get((row, task), _NO_RUN) for task in tasks}
        means = {k: run.middle(run.metric, mean) for k, run in runs.items()}
        ours = {"model": label, "": "ours"}
        ours["average"] = tables.percent(glue_average(means))
        theirs = {"model": "", "": "paper"}
        theirs["average"] = tables.percent(paper.get(row, {}).get("average"))
        for task, run in runs.items():
            name = tables.task_name(task)
            ours[name] = tables.over_seeds(run, run.metric, mean)
            theirs[name] = tables.percent(paper.get(row, {}).get(task))
        rows += [ours, theirs] if row in ROWS else [ours]
    notes = [
        "Percent: the paper's metric on dev, mean over seeds, with the range."
        " The paper's numbers are from GLUE's test server. The average "
        "is given if all eight tasks have results. Of several results for a "
        "cell, the one that differs least from the full model is shown."
    ]
    found = {
        task: ablations["full", task].result.get("num_train_examples")
        for task in GLUE
        if ("full", task) in ablations
    }
    counts = [f"{tables.task_name(k)} {n:,}" for k, n in found.items() if n]
    if counts:
        notes.append(f"Training rows of the full model: {', '.join(counts)}.")
    for (row, task), run in ablations.items():
        full = ablations.get(("full", task), run)
        if differing := comparison.differences(full, run):
            notes.append(
                f"{tables.task_name(task)}, {labels[row]}: also differs from "
                f"the full model in {', '.join(differing)}."
            )
    shown = [found for (_, task), found in ablations.items() if task in tasks]
    return _table("Table 5: ablations", rows, shown, notes)
