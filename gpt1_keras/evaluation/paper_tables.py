"""Tables 2 to 5 of the paper, with our results beside the paper's.

Shares are in percent; unknown values are empty cells.
"""

import dataclasses
import statistics

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

# Table 5 and its average: eight GLUE tasks, the paper's metric of each.
GLUE = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
# GLUE's official average, 72.8 in table 4: nine tasks, each the mean of its
# metrics, so MNLI counts once.
_OFFICIAL_GLUE = {
    "cola": ("matthews",),
    "sst2": ("accuracy",),
    "mrpc": ("f1", "accuracy"),
    "stsb": ("pearson", "spearman"),
    "qqp": ("f1", "accuracy"),
    "mnli": ("accuracy_matched", "accuracy_mismatched"),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
}
# Title -> (task, metric, name in the paper), in the paper's order.
_TABLES = {
    "Table 2: natural language inference": (
        ("mnli", "accuracy_matched", "MNLI-m"),
        ("mnli", "accuracy_mismatched", "MNLI-mm"),
        ("snli", "accuracy", "SNLI"),
        ("scitail", "accuracy", "SciTail"),
        ("qnli", "accuracy", "QNLI"),
        ("rte", "accuracy", "RTE"),
    ),
    "Table 3: question answering and commonsense reasoning": (
        ("story_cloze", "accuracy", "Story Cloze"),
        ("race", "accuracy_middle", "RACE-m"),
        ("race", "accuracy_high", "RACE-h"),
        ("race", "accuracy", "RACE"),
    ),
    "Table 4: semantic similarity and classification": (
        ("cola", "matthews", "CoLA"),
        ("sst2", "accuracy", "SST-2"),
        ("mrpc", "f1", "MRPC"),
        ("stsb", "pearson", "STS-B"),
        ("qqp", "f1", "QQP"),
        ("glue", "average", "GLUE"),
    ),
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
_GLUE_NOTE = (
    "GLUE: the official average of nine tasks, WNLI included; tasks with two "
    "metrics, and MNLI's two dev sets, count with their mean."
)


def glue_average(values):
    """Return table 5's average of {task: value}; None if one is missing."""
    found = [values.get(task) for task in GLUE]
    return None if None in found else statistics.fmean(found)


def official_glue_average(metrics):
    """Return GLUE's official average of {task: metrics}, else None."""
    scores = []
    for task, names in _OFFICIAL_GLUE.items():
        found = [metrics.get(task, {}).get(name) for name in names]
        if None in found:
            return None
        scores.append(statistics.fmean(found))
    return statistics.fmean(scores)


def glue_averages(results):
    """Return {"glue_average", "glue_official_average"}, None if incomplete."""
    results = {result.run.task: result for result in results}
    medians = {
        task: {metric: result.median(metric) for metric in result.metrics}
        for task, result in results.items()
    }
    first = {task: medians[task][results[task].metric] for task in results}
    return {
        "glue_average": glue_average(first),
        "glue_official_average": official_glue_average(medians),
    }


def benchmarks(results, paper):
    """Return the table of the full model on several tasks.

    A row for each metric, and for both averages of GLUE where all their tasks
    are there.

    Args:
        results: list of `comparison.Result`, one for each task.
        paper: {task: {metric: share}}.
    """
    rows = []
    for result in results:
        task = result.run.task
        for metric in result.metrics:
            theirs = paper.get(task, {}).get(metric)
            rows.append(_line(tables.task_name(task), metric, result, theirs))
            rows[-1]["metric"] = tables.metric_name(metric)
    first = {task: next(iter(each.values())) for task, each in paper.items()}
    theirs = {
        "glue_average": ("mean of eight (table 5)", glue_average(first)),
        "glue_official_average": ("official average", first.get("glue")),
    }
    for name, ours in glue_averages(results).items():
        if ours is not None:
            label, number = theirs[name]
            row = {"benchmark": "GLUE", "metric": label}
            row["ours, dev"] = tables.percent(ours)
            rows.append(row | {"paper, test": tables.percent(number)})
    title = tables.sample_title(
        "Fine-tuning beside the paper", [r.run.is_sample for r in results]
    )
    return tables.Table(title, rows, [_NOTE])


def of_the_paper(results, paper):
    """Return tables 2, 3 and 4; arguments as of `benchmarks`."""
    full = {}
    for result in results:
        if result.run.row == "full":
            full.setdefault(result.run.task, []).append(result)
    chosen = {task: comparison.preferred(found) for task, found in full.items()}
    glue = glue_averages(chosen.values())["glue_official_average"]
    found = []
    for title, lines in _TABLES.items():
        rows = []
        for task, metric, name in lines:
            theirs = paper.get(task, {}).get(metric)
            rows.append(_line(name, metric, chosen.get(task), theirs))
            if task == "glue":
                rows[-1]["ours, dev"] = tables.percent(glue)
        tasks = {task: chosen.get(task) for task, _, _ in lines}
        notes = [_NOTE] + [_GLUE_NOTE] * ("glue" in tasks)
        notes += [
            f"{tables.task_name(task)}: {len(candidates) - 1} more setting(s) "
            "under All results."
            for task, candidates in full.items()
            if task in tasks and len(candidates) > 1
        ]
        title = tables.sample_title(
            title, [each.run.is_sample for each in tasks.values() if each]
        )
        found.append(tables.Table(title, rows, notes))
    return found


def _line(name, metric, result, theirs):
    found = result.run.result if result else {}
    return {
        "benchmark": name,
        "metric": tables.metric_name(metric.partition("_")[0]),
        "ours, dev": tables.over_seeds(result, metric),
        "ours, test": tables.over_seeds(result, metric, on_test=True),
        "paper, test": tables.percent(theirs),
        "majority": tables.percent(found.get("majority", {}).get(metric)),
        "data": tables.data(result.run) if result else "",
        "train": found.get("num_train_examples"),
        "dev": found.get("num_examples"),
        "test": found.get("test", {}).get("num_examples"),
        "workdir": result and result.run.path,
    }


@dataclasses.dataclass(frozen=True)
class Ablations:
    """The results of table 5.

    Attributes:
        cells: {(row, task): `comparison.Result`}.
        others: {(row, task): how many other settings there are}.
    """

    cells: dict
    others: dict

    def tasks(self):
        """Return the paper's tasks, then further ones with results."""
        more = {
            task
            for row, task in self.cells
            if row != "full" and task not in GLUE
        }
        return (*GLUE, *sorted(more))

    def means(self, row):
        """Return {task: mean of the paper's metric} of a row."""
        return {
            task: result.mean(result.metric)
            for (name, task), result in self.cells.items()
            if name == row
        }


def choose_ablations(results):
    """Return the `Ablations` of table 5 among results of fine-tuning.

    Of several settings in the row of the full model the preferred one
    stands for a task; in the other rows the one that differs least from it.
    """
    by_cell = {}
    for result in results:
        if result.run.row in ROWS:
            cell = (result.run.row, result.run.task)
            by_cell.setdefault(cell, []).append(result)
    chosen, rows = {}, list(ROWS)  # the full model first
    for row, task in sorted(by_cell, key=lambda cell: rows.index(cell[0])):
        full = chosen.get(("full", task))
        chosen[row, task] = comparison.closest(by_cell[row, task], full)
    others = {cell: len(found) - 1 for cell, found in by_cell.items()}
    return Ablations(chosen, others)


def ablation_table(ablations, paper):
    """Return table 5, ours above the paper's in each row.

    `paper` is {row: {task: share}}, with "average" among the tasks.
    """
    tasks = ablations.tasks()
    rows = []
    for row, label in ROWS.items():
        average = tables.percent(glue_average(ablations.means(row)))
        ours = {"model": label, "": "ours", "average": average}
        theirs = {"model": "", "": "paper"}
        for task in ("average", *tasks):
            share = paper.get(row, {}).get(task)
            theirs[tables.task_name(task)] = tables.percent(share)
        for task in tasks:
            found = ablations.cells.get((row, task))
            metric = found and found.metric
            cell = tables.over_seeds(found, metric, statistics.fmean)
            ours[tables.task_name(task)] = cell
        rows += [ours, theirs]
    shown = {
        (row, task): result
        for (row, task), result in ablations.cells.items()
        if task in tasks
    }
    title = tables.sample_title(
        "Table 5: ablations", [each.run.is_sample for each in shown.values()]
    )
    notes = [
        "Percent: the paper's metric on dev, mean over seeds, with the range "
        "below. The paper's numbers are from GLUE's test server. The average "
        "is given if all eight tasks have results.",
        *tables.sample_notes(
            tables.task_name(task)
            for (_, task), result in shown.items()
            if result.run.is_sample
        ),
    ]
    for (row, task), result in ablations.cells.items():
        name = f"{tables.task_name(task)}, {ROWS[row]}"
        full = ablations.cells.get(("full", task), result)
        differing = comparison.differences(full.run, result.run)
        if differing:
            notes.append(
                f"{name}: also differs from the full model in "
                f"{', '.join(differing)}."
            )
        others = ablations.others[row, task]
        if others and (row, task) in shown:
            notes.append(f"{name}: {others} more under All results.")
    return tables.Table(title, rows, notes)
