"""Several benchmarks in one run, and one table of them."""

from absl import logging

from gpt1_keras import files
from gpt1_keras.evaluation import paper_table
from gpt1_keras.runs import result
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import names


def suite(*, workdir, config_sha256, finetune, data, tasks, paper, seed):
    """Fine-tune on each task in `workdir/TASK`; write `table.md` above them.

    A task that is finished is not run again.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the results.
        finetune: function as `finetune.finetune`, of which this run gives
            `workdir`, `config_sha256`, `task` and `data`.
        data: `benchmark_files.BenchmarkFiles`.
        tasks: names of `tasks.benchmarks`.
        paper: dict from a task's name to the paper's metrics.
        seed: int, or the tuple of seeds, for the result.

    Returns:
        path of `result.json`.
    """
    if result.is_finished(workdir, config_sha256):
        return result.path(workdir)
    chosen = choose(tasks)
    check([t for t in chosen if not _is_done(workdir, t, config_sha256)], data)
    found = []
    for i, task in enumerate(chosen, start=1):
        logging.info("task %d of %d: %s", i, len(chosen), task.name)
        directory = workdir / task.name
        finetune(
            workdir=directory,
            config_sha256=config_sha256,
            task=task,
            data=data,
        )
        found.append(result.read(directory))
        table = paper_table.markdown(found)
        files.write_atomic(workdir / "table.md", table)
        print(f"\n{table}", flush=True)
    metrics = {each["task"]: paper_table.main_value(each) for each in found}
    average = paper_table.glue_average(metrics)
    if average is not None:
        metrics["glue_average"] = average
    return result.write(
        workdir,
        run="suite",
        task=", ".join(tasks),
        split="dev",
        metrics=metrics,
        paper={name: paper.get(name, {}) for name in tasks},
        num_examples=sum(each["num_examples"] for each in found),
        seed=seed,
        config_sha256=config_sha256,
        seconds=sum(each["seconds"] for each in found),
    )


def choose(tasks):
    """Return the list of `Task` of the names in TASKS, one or more."""
    names.check_list(tasks, dial="TASKS", example=("cola", "rte"))
    return [benchmarks.benchmark(name) for name in tasks]


def _is_done(workdir, task, config_sha256):
    found = result.read(workdir / task.name)
    return found is not None and found["config_sha256"] == config_sha256


def check(tasks, data):
    """Read the files of all tasks before the first one trains."""
    for task in tasks:
        for split in ("train", "dev"):
            data.read(task, split)
