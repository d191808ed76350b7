"""Tables 2, 3 and 4 of the paper, ours beside the paper's.

Shares are in percent. What no file says is an empty cell.
"""

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_table
from gpt1_keras.evaluation import result_cells as cells
from gpt1_keras.evaluation import tables

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
    ours = ["", paper_table.percent(paper.get(metric)), "", "", "", "", ""]
    if result is not None:
        found = result.run.result
        ours = [
            cells.over_seeds(result, metric),
            paper_table.percent(paper.get(metric)),
            paper_table.percent(found.get("majority", {}).get(metric)),
            cells.data(result.run),
            cells.count(found.get("num_train_examples")),
            cells.count(found.get("num_examples")),
            cells.path(result.run.path),
        ]
    return [name, paper_table.metric_name(metric.partition("_")[0]), *ours]


def _more(candidates, tasks):
    return [
        f"{paper_table.task_name(task)}: {len(found) - 1} more setting(s) "
        "under All results."
        for task, found in candidates.items()
        if task in tasks and len(found) > 1
    ]
