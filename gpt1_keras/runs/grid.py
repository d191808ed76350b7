"""The ablations: tasks by rows by seeds, in one run that goes on."""

import dataclasses
import re
import time

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import tables
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks

# -----------------------------------------------------------------------------
# Several benchmarks in one run, and one table of them.


def suite(
    *,
    workdir,
    config_sha256,
    finetune,
    data,
    tasks,
    paper: checks.NotRecipe[dict],
    seed: checks.Seed,
):
    """Fine-tune on each task in `workdir/TASK`; write `table.md` above them.

    A task that is finished is not run again.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the results.
        finetune: function as `finetune.finetune`, of which this run gives
            `workdir`, `config_sha256`, `task` and `data`.
        data: `sources.BenchmarkFiles`.
        tasks: names of `tasks.benchmarks`.
        paper: dict from a task's name to the paper's metrics.
        seed: int, or the tuple of seeds, for the result.

    Returns:
        path of `result.json`.
    """
    if results.is_finished(workdir, config_sha256):
        return results.path(workdir)
    chosen = choose_tasks(tasks)
    check_tasks(
        [t for t in chosen if not _is_done(workdir, t, config_sha256)], data
    )
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
        found.append(results.read(directory))
        table = tables.paper_markdown(found)
        files.write_atomic(workdir / "table.md", table)
        print(f"\n{table}", flush=True)
    metrics = {each["task"]: tables.main_value(each) for each in found}
    average = tables.glue_average(metrics)
    if average is not None:
        metrics["glue_average"] = average
    return results.write(
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


def choose_tasks(tasks):
    """Return the list of `Task` of the names in TASKS, one or more."""
    checks.check_names(tasks, dial="TASKS", example=("cola", "rte"))
    return [benchmarks.benchmark(name) for name in tasks]


def _is_done(workdir, task, config_sha256):
    found = results.read(workdir / task.name)
    return found is not None and found["config_sha256"] == config_sha256


def check_tasks(tasks, data):
    """Read the files of all tasks before the first one trains."""
    for task in tasks:
        for split in ("train", "dev"):
            data.read(task, split)


# -----------------------------------------------------------------------------
# The ablations: tasks by rows by seeds, in one run that goes on.

_TRANSFER = "transfer_"


def grid(
    *,
    workdir,
    config_sha256,
    finetune,
    data,
    training,
    pretrained,
    lstm_preset: checks.Path | None,
    rows,
    tasks,
    table5: checks.NotRecipe[dict],
    seed: checks.Seed,
):
    """Fine-tune each task in each row, into `workdir/ROW/TASK`.

    Writes `table5.md` after every cell; a finished cell is not run again.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the results.
        finetune: function as `finetune.finetune`; this run gives `workdir`,
            `config_sha256`, `task`, `data`, `training` and `pretrained`.
        data: `sources.BenchmarkFiles`.
        training: `finetune.FineTuning` of the full model.
        pretrained: `presets.Pretrained` of the full model.
        lstm_preset: path of a pretrained LSTM, or None.
        rows: names as in `_changes`, `transfer_K` for K layers (-1, 0 ...).
        tasks: names of `tasks.benchmarks`.
        table5: dict from a row to {task: the paper's share}.
        seed: int, or the tuple of seeds, for the result.

    Returns:
        path of `result.json`.
    """
    if results.is_finished(workdir, config_sha256):
        return results.path(workdir)
    started = time.monotonic()
    changes = _choose(rows, training, pretrained, lstm_preset)
    chosen = choose_tasks(tasks)
    check_tasks(chosen, data)
    cells = [(row, task) for task in chosen for row in changes]
    for i, (row, task) in enumerate(cells, start=1):
        logging.info("cell %d of %d: %s, %s", i, len(cells), task.name, row)
        finetune(
            workdir=workdir / row / task.name,
            config_sha256=config_sha256,
            task=task,
            data=data,
            **changes[row],
        )
        print(f"\n{_write_table(workdir, table5)}", flush=True)
    found = [results.read(workdir / row / task.name) for row, task in cells]
    return results.write(
        workdir,
        run="grid",
        task=", ".join(tasks),
        split="dev",
        metrics={
            f"{row}/{task.name}": next(iter(each["metrics"].values()))
            for (row, task), each in zip(cells, found, strict=True)
        },
        paper=table5,
        num_examples=sum(each["num_examples"] for each in found),
        seed=seed,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
    )


def _choose(rows, training, pretrained, lstm_preset):
    """Return {row: arguments of fine-tuning}, of rows that can all begin."""
    checks.check_names(rows, dial="ROWS", example=("full", "no_pretraining"))
    found = {
        row: _changes(row, training, pretrained, lstm_preset) for row in rows
    }
    for row, changed in found.items():
        _check_preset(row, **changed)
    return found


def _changes(row, training, pretrained, lstm_preset):
    """Return the arguments of fine-tuning in a row."""
    if row == "full":
        changed = {}
    elif row == "no_auxiliary_lm":
        changed = {"training": {"lm_loss_weight": 0.0}}
    elif row == "no_pretraining":
        changed = {"pretrained": {"num_transferred_layers": -1}}
    elif row == "lstm":
        if lstm_preset is None:
            raise errors.InputError(
                "the row 'lstm' needs LSTM_PRESET, a pretraining run with "
                "gin/ablation/lstm.gin: give it or leave the row out of ROWS"
            )
        changed = {"pretrained": {"preset": lstm_preset}}
    else:
        changed = {"pretrained": {"num_transferred_layers": _layers(row)}}
    return {
        "training": dataclasses.replace(
            training, **changed.get("training", {})
        ),
        "pretrained": pretrained.changed(**changed.get("pretrained", {})),
    }


def _layers(row):
    number = re.fullmatch(rf"{_TRANSFER}(-?[0-9]+)", row)
    if not number:
        raise errors.InputError(
            f"ROWS has {row!r}: give 'full', 'no_auxiliary_lm', "
            "'no_pretraining', 'lstm' or 'transfer_K' with a number K"
        )
    return int(number[1])


def _check_preset(row, training, pretrained):
    """Refuse a row that could not begin, before other rows have trained."""
    directory = pretrained.directory
    pretrained.tokenizer()
    training.max_sequence_length(pretrained.num_positions())
    config = presets.backbone_config(directory)
    if row == "lstm" and "num_units" not in config:
        raise errors.InputError(
            f"LSTM_PRESET {directory} is no LSTM: give a pretraining run with "
            "gin/ablation/lstm.gin"
        )
    num_layers = config.get("num_layers", 1)  # an LSTM has one
    count = pretrained.num_transferred_layers
    if count is None:
        return
    if not isinstance(count, int) or not -1 <= count <= num_layers:
        raise errors.InputError(
            f"the row {row!r} transfers {count!r} layers: {directory} has "
            f"{num_layers}; give -1 (nothing), 0 (embeddings) to {num_layers}"
        )


def _write_table(workdir, table5):
    """Write and return table 5 of the cells so far."""
    runs = [
        run for run in comparison.find_runs([workdir]) if run.kind == "finetune"
    ]
    ablations = paper_tables.choose(comparison.over_seeds(runs))
    text = tables.markdown(paper_tables.table(ablations, table5))
    files.write_atomic(workdir / "table5.md", text)
    return text
