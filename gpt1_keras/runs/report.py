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

    Reads `result.json`, `metrics.jsonl` and `config.gin`; no model is loaded
    and no workdir changed. Running it again writes it anew.

    Args:
        workdir: pathlib.Path of everything the run writes.
        results: path of a folder with workdirs in or below it, or several.
        constants: dict from a probe to {"metric", "random",
            "state_of_the_art", "source"}, for figure 2.
        paper: dict from a task's name to the paper's metrics.
        table5: dict from a row of table 5 to {task: share}.

    Returns:
        path of `report.html`.

    Raises:
        InputError: no results there, a file of them is damaged, or the
            constants are not as in gin/report.gin.
    """
    folders = [results] if isinstance(results, str) else results
    if (
        not isinstance(folders, list | tuple)
        or not folders
        or not all(isinstance(folder, str) for folder in folders)
    ):
        raise errors.InputError(
            f"RESULTS is {results!r}: give a folder, as in 'out', or several,"
            " as in ('out/suite', 'out/pretrain')"
        )
    runs = comparison.find_runs(folders)
    if not any(run.result for run in runs):
        places = ", ".join(map(str, folders))
        raise errors.InputError(
            f"RESULTS: no result.json in or below {places}: give the workdir"
            " of a finished run, or a folder above some"
        )
    path = report_lib.write(
        runs, workdir, constants=constants, paper=paper, table5=table5
    )
    logging.info("report of %d workdirs: %s", len(runs), path)
    return path
