"""Tables 2, 3 and 4 of the paper, ours beside the paper's.

Shares are in percent. What no file says is an empty cell.
"""

import dataclasses

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

# -----------------------------------------------------------------------------
# Table 5 of the paper: what pretraining and the auxiliary objective give.

ROWS = {
    "full": "Transformer, auxiliary LM (full)",
    "no_pretraining": "Transformer, no pretraining",
    "no_auxiliary_lm": "Transformer, no auxiliary LM",
    "lstm": "LSTM, auxiliary LM",
}
TITLE = "Table 5: ablations"


@dataclasses.dataclass(frozen=True)
class Ablations:
    """Which result stands in which cell of table 5.

    Attributes:
        cells: dict from (row, task) to `comparison.Result`.
        others: dict from (row, task) to how many other settings there are.
    """

    cells: dict
    others: dict

    def tasks(self):
        """Tasks of the columns: those of the paper, then ours with a row."""
        more = {
            task
            for row, task in self.cells
            if row != "full" and task not in tables.GLUE
        }
        return (*tables.GLUE, *sorted(more))

    def means(self, row):
        """Return {task: mean of the paper's metric} of a row."""
        return {
            task: result.mean(result.metric)
            for (name, task), result in self.cells.items()
            if name == row
        }


def choose(results):
    """Choose the results of table 5.

    Of several settings in the row of the full model the preferred one
    stands for a task; in the other rows the one that differs least from it.

    Args:
        results: list of `comparison.Result` of fine-tuning.

    Returns:
        `Ablations`.
    """
    by_cell = {}
    for result in results:
        if result.run.row in ROWS:
            cell = (result.run.row, result.run.task)
            by_cell.setdefault(cell, []).append(result)
    chosen = {}
    for row in ROWS:
        for (name, task), candidates in by_cell.items():
            if name == row:
                chosen[row, task] = comparison.closest(
                    candidates, chosen.get(("full", task))
                )
    others = {cell: len(found) - 1 for cell, found in by_cell.items()}
    return Ablations(chosen, others)


def table(ablations, paper):
    """Return table 5, ours above the paper's in each row.

    Args:
        ablations: `Ablations`.
        paper: dict from a row to {task: share}, with "average".

    Returns:
        `tables.Table` in percent: mean over seeds; below it range and number
        of seeds, where there are several.
    """
    tasks = ablations.tasks()
    rows = []
    for row, label in ROWS.items():
        means = ablations.means(row)
        average = tables.glue_average(means)
        found = [ablations.cells.get((row, task)) for task in tasks]
        ours = [
            tables.over_seeds(each, each and each.metric, "mean")
            for each in found
        ]
        rows.append(
            [label, "ours", tables.percent(average), *ours],
        )
        known = paper.get(row, {})
        numbers = [tables.percent(known.get(task)) for task in tasks]
        rows.append(
            ["", "paper", tables.percent(known.get("average")), *numbers],
        )
    header = ["model", "", "average", *map(tables.task_name, tasks)]
    return tables.Table(TITLE, header, rows, _notes(ablations))


def _notes(ablations):
    notes = [
        "Percent: the paper's metric on dev, mean over seeds, below it the "
        "range. The paper's numbers are those of GLUE's test server. The "
        "average is there where all eight tasks are."
    ]
    notes += tables.sample_notes(
        tables.task_name(task)
        for (_, task), result in ablations.cells.items()
        if result.run.is_sample and task in ablations.tasks()
    )
    for (row, task), result in ablations.cells.items():
        name = f"{tables.task_name(task)}, {ROWS[row]}"
        full = ablations.cells.get(("full", task), result)
        differing = comparison.differences(full.run, result.run)
        if differing:
            notes.append(
                f"{name}: differs from the full model also in "
                f"{', '.join(differing)}."
            )
        others = ablations.others[row, task]
        if others and task in ablations.tasks():
            notes.append(f"{name}: {others} more under All results.")
    return notes


# -----------------------------------------------------------------------------
# Tables 2, 3 and 4 of the paper, ours beside the paper's.

# Title -> (task, metric, name in the paper), in the paper's order.
_OF_THE_PAPER = {
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
    ),
}


def of_the_paper(results, paper):
    """Return tables 2, 3 and 4, ours beside the paper's.

    Args:
        results: list of `comparison.Result` of fine-tuning.
        paper: dict from a task's name to {metric: share}.

    Returns:
        list of `tables.Table`.
    """
    full = {}
    for result in results:
        if result.run.row == "full":
            full.setdefault(result.run.task, []).append(result)
    chosen = {
        task: comparison.preferred(candidates)
        for task, candidates in full.items()
    }
    header = ["benchmark", "metric", "ours", "paper", "majority", "data"]
    header += ["train", "dev", "workdir"]
    note = (
        "Percent on dev, median over seeds; data: official files or generated "
        "samples; train, dev: numbers of examples."
    )
    return [
        tables.Table(
            title,
            header,
            [
                _row(name, metric, chosen.get(task), paper.get(task, {}))
                for task, metric, name in lines
            ],
            [note, *_more(full, {task for task, _, _ in lines})],
        )
        for title, lines in _OF_THE_PAPER.items()
    ]


def _row(name, metric, result, paper):
    ours = ["", tables.percent(paper.get(metric)), "", "", "", "", ""]
    if result is not None:
        found = result.run.result
        ours = [
            tables.over_seeds(result, metric),
            tables.percent(paper.get(metric)),
            tables.percent(found.get("majority", {}).get(metric)),
            tables.data(result.run),
            tables.count(found.get("num_train_examples")),
            tables.count(found.get("num_examples")),
            tables.path(result.run.path),
        ]
    return [name, tables.metric_name(metric.partition("_")[0]), *ours]


def _more(candidates, tasks):
    return [
        f"{tables.task_name(task)}: {len(found) - 1} more setting(s) "
        "under All results."
        for task, found in candidates.items()
        if task in tasks and len(found) > 1
    ]
