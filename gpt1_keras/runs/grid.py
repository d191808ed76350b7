"""Fine-tuning on several tasks, in one or several rows of table 5."""

import dataclasses
import re

from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from gpt1_keras.evaluation import text_view
from gpt1_keras.runs import finetune as finetune_lib
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks


def grid(
    *,
    workdir,
    config_sha256,
    finetune: checks.FineTuningRun,
    data: sources.BenchmarkFiles,
    training: finetune_lib.FineTuning,
    pretrained: presets.Pretrained,
    tasks: checks.Names,
    rows: checks.Names = ("full",),
    lstm_preset: checks.Path | None = None,
    paper: checks.NotRecipe[checks.NamedNumbers | None] = None,
    table5: checks.NotRecipe[checks.NamedNumbers | None] = None,
    is_writer=True,
):
    """Fine-tune on each task in each row; write a table beside the paper's.

    The full model alone goes to `workdir/TASK`, with `table.md` above; rows
    of table 5 go to `workdir/ROW/TASK`, with `table5.md`. The table is
    written after every cell. A finished cell is not run again.

    Args:
        finetune: function as `finetune.finetune`; this run gives `workdir`,
            `config_sha256`, `task`, `data`, `training` and `pretrained`.
        training, pretrained: of the full model.
        rows: "full", "no_pretraining", "no_auxiliary_lm", "lstm", or
            "transfer_K", which transfers K layers (-1, 0 ...).
        is_writer: whether this process writes results: of workers, the first.
    """
    paper, table5 = paper or {}, table5 or {}
    changes = _choose(rows, training, pretrained, lstm_preset)
    is_one_row = list(changes) == ["full"]
    cells = {
        workdir / ("" if is_one_row else row) / task.name: (row, task)
        for task in map(benchmarks.benchmark, tasks)
        for row in changes
    }
    left = [each for each in cells if not _finished([each], config_sha256)]
    tasks_left = dict.fromkeys(cells[directory][1] for directory in left)
    checked = cells if left else {}
    for directory, (row, task) in checked.items():
        # Finished cells must have started from the same presets and, if they
        # are to stand beside new ones of their task, from the same examples.
        start = {"preset": presets.sha256(changes[row]["pretrained"].directory)}
        for path in directory.rglob(finetune_lib.EXAMPLES):
            results.check_inputs(path, start)
            if task in tasks_left:
                finetune_lib.check_or_write_examples(path.parent, task, data)
    for task in tasks_left:
        for split in ("train", "dev"):
            data.read(task, split)
    for i, (directory, (row, task)) in enumerate(cells.items(), start=1):
        logging.info("cell %d of %d: %s, %s", i, len(cells), task.name, row)
        # For a finished cell, this only checks that its presets are intact.
        finetune(
            workdir=directory,
            config_sha256=config_sha256,
            task=task,
            data=data,
            **changes[row],
        )
        if not is_writer:
            continue
        found = _finished(cells, config_sha256)
        if is_one_row:
            name, table = "table.md", paper_tables.benchmarks(found, paper)
        else:
            shown = [*paper_tables.ROWS, *(run.row or "" for run in found)]
            chosen = paper_tables.choose_ablations(found, shown)
            name = "table5.md"
            table = paper_tables.ablation_table(chosen, table5)
        text = text_view.write_page(workdir / name, "", "", {"": [table]})
        print(f"\n{text}", flush=True)
    if not is_writer:
        return None
    metrics = {
        each.path.relative_to(workdir).as_posix(): each.middle(each.metric)
        for each in found
    }
    expected = table5
    if is_one_row:
        averages = paper_tables.glue_averages(found)
        metrics |= {k: v for k, v in averages.items() if v is not None}
        expected = {name: paper.get(name, {}) for name in tasks}
    return results.write(
        workdir,
        run="grid",
        task=", ".join(tasks),
        split="dev",
        metrics=metrics,
        paper=expected,
        num_examples=sum(each.result["num_examples"] for each in found),
        seed=found[0].result["seed"],
        config_sha256=config_sha256,
        seconds=sum(each.result["seconds"] for each in found),
    )


def _finished(directories, config_sha256):
    """Return the `comparison.Run` of each finished cell."""
    return [
        run
        for run in map(comparison.read, directories)
        if run.result.get("config_sha256") == config_sha256
    ]


def _choose(rows, training, pretrained, lstm_preset):
    """Return {row: arguments of fine-tuning} after checking every row."""
    # What a row changes in `FineTuning` and in `Pretrained`.
    changes = {
        "full": ({}, {}),
        "no_auxiliary_lm": ({"lm_loss_weight": 0.0}, {}),
        "no_pretraining": ({}, {"num_transferred_layers": -1}),
        "lstm": ({}, {"preset": lstm_preset}),
    }
    chosen = {}
    for row in rows:
        if number := re.fullmatch(r"transfer_(-1|[0-9]+)", row):
            changes[row] = ({}, {"num_transferred_layers": int(number[1])})
        if row not in changes:
            raise errors.InputError(
                f"`rows` has {row!r}: give {', '.join(map(repr, changes))} or"
                " 'transfer_K' with a number K"
            )
        of_training, of_pretrained = changes[row]
        chosen[row] = {
            "training": dataclasses.replace(training, **of_training),
            "pretrained": dataclasses.replace(pretrained, **of_pretrained),
        }
        try:
            _check_preset(row, **chosen[row])
        except errors.InputError as error:
            name = "lstm_preset" if row == "lstm" else "preset"
            message = str(error).replace("`preset`", f"`{name}`")
            raise errors.InputError(message) from None
    return chosen


def _check_preset(row, training, pretrained):
    """Refuse a row that cannot run, before other rows are trained."""
    directory = pretrained.directory
    _ = pretrained.tokenizer
    presets.check_length(training.sequence_length, pretrained.num_positions())
    config = presets.read_config(directory)
    if row == "lstm" and "num_units" not in config:
        raise errors.InputError(
            f"`lstm_preset`: {directory} is not an LSTM: give a pretraining run"
            " with gin/ablation/lstm.gin, or leave 'lstm' out of `rows`"
        )
    num_layers = config.get("num_layers", 1)  # an LSTM has one
    count = pretrained.num_transferred_layers
    if count is not None and count > num_layers:
        raise errors.InputError(
            f"the row {row!r} transfers {count} layers: {directory} has "
            f"{num_layers}; give -1 (nothing), 0 (embeddings) to {num_layers}"
        )
    pretrained.check_lora(num_layers, config["hidden_dim"])
