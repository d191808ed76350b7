"""One page of all results, from the files of workdirs alone."""

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import report as report_lib


def report(
    *,
    workdir,
    results: checks.NotRecipe[checks.Path | tuple[checks.Path, ...]],
    constants: checks.NotRecipe[dict],
    paper: checks.NotRecipe[dict],
    table5: checks.NotRecipe[dict],
):
    """Write `report.html` and `report.md`, `plots/*.png` and `*.csv`.

    Reads `result.json`, `metrics.jsonl` and `config.gin`; loads no model and
    changes no workdir. A workdir with a damaged file is listed as unreadable.
    Every call rewrites everything.

    Args:
        results: path of a folder with workdirs in or below it, or several.
        constants: dict from a zero-shot task to {"metric", "random",
            "state_of_the_art", "source"}, for figure 2.
        paper: dict from a task's name to the paper's metrics.
        table5: dict from a row of table 5 to {task: share}.

    Returns:
        path of `report.html`.
    """
    folders = [results] if isinstance(results, str) else results
    runs, unreadable = comparison.find(folders)
    for path, message in unreadable:
        logging.warning("%s is left out: %s", path, message)
    if not any(run.result for run in runs):
        raise errors.InputError(
            "`results`: no readable result.json in or below"
            f" {', '.join(folders)}: give the workdir of a finished run, or a"
            " folder above some"
        )
    path = report_lib.write(
        runs,
        workdir,
        constants=constants,
        paper=paper,
        table5=table5,
        unreadable=unreadable,
    )
    logging.info("report of %d workdirs: %s", len(runs), path)
    return path
