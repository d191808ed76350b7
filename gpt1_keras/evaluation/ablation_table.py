"""Table 5 of the paper: what pretraining and the auxiliary objective give."""

import dataclasses

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_table
from gpt1_keras.evaluation import result_cells as cells
from gpt1_keras.evaluation import tables

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
            if row != "full" and task not in paper_table.GLUE
        }
        return (*paper_table.GLUE, *sorted(more))

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
        average = paper_table.glue_average(means)
        found = [ablations.cells.get((row, task)) for task in tasks]
        ours = [
            cells.over_seeds(each, each and each.metric, "mean")
            for each in found
        ]
        rows.append(
            [label, "ours", paper_table.percent(average), *ours],
        )
        known = paper.get(row, {})
        numbers = [paper_table.percent(known.get(task)) for task in tasks]
        rows.append(
            ["", "paper", paper_table.percent(known.get("average")), *numbers],
        )
    header = ["model", "", "average", *map(paper_table.task_name, tasks)]
    return tables.Table(TITLE, header, rows, _notes(ablations))


def _notes(ablations):
    notes = [
        "Percent: the paper's metric on dev, mean over seeds, below it the "
        "range. The paper's numbers are those of GLUE's test server. The "
        "average is there where all eight tasks are."
    ]
    notes += cells.sample_notes(
        paper_table.task_name(task)
        for (_, task), result in ablations.cells.items()
        if result.run.is_sample and task in ablations.tasks()
    )
    for (row, task), result in ablations.cells.items():
        name = f"{paper_table.task_name(task)}, {ROWS[row]}"
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
