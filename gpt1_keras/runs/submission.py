"""Predictions for the GLUE test server, as the zip that it accepts."""

import pathlib
import time

import keras
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.evaluation import glue_submission
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks

# Tasks whose models are used.
_TASKS = ("cola", "sst2", "mrpc", "stsb", "qqp", "qnli", "rte", "wnli", "mnli")


def submission(
    *,
    workdir,
    config_sha256,
    runs: checks.Path,
    data: sources.BenchmarkFiles,
    scoring: presets.Scoring,
):
    """Predict the GLUE test files; write a checked `glue_submission.zip`.

    `runs` is a folder with a fine-tuning workdir for each task, such as a
    suite's. A task without one gets a constant prediction, with a warning.
    """
    started = time.monotonic()
    runs = pathlib.Path(runs)
    there = {
        name: presets.find(runs / name)
        for name in _TASKS
        if results.path(runs / name).exists()
    }
    if not there:
        raise errors.InputError(
            f"`runs`: {runs} has no finished GLUE run, such as"
            f" {runs / 'cola'}: give the workdir of gin/suite.gin"
        )
    facts = {
        "presets_sha256": [presets.sha256(path) for path in there.values()],
        "data_dir": data.data_dir and str(data.data_dir),
        "examples_sha256": [
            examples_lib.sha256(data.read(task, "test"))
            for name in there
            for task in _benchmarks(name)
        ],
    }
    folder = workdir / "submission"
    is_written = (folder / glue_submission.ZIP_NAME).exists()
    if is_written and results.is_finished(workdir, config_sha256, **facts):
        return results.path(workdir)
    predictions = {}  # {task of the submission: labels or scores}
    for name, preset in there.items():
        keras.utils.clear_session()
        model = presets.FineTuned(preset, scoring)
        if model.preprocessor.task != name:
            raise errors.InputError(
                f"{preset} holds a model of {model.preprocessor.task}: `runs` "
                f"needs a model of {name} there"
            )
        of_preset = benchmarks.of_preset(model.preprocessor)
        for task in (of_preset, *_benchmarks(name)[1:]):
            examples = model.labelled(task, data.read(task, "test"), "test")
            predicted = task.label_space.predict(model.logits(examples))
            for example, prediction in zip(examples.examples, predicted):
                # MultiNLI's two test sets are two files.
                key = f"{task.name}_{example.group}".removesuffix("_")
                label = task.label_space.format(prediction)
                predictions.setdefault(key, []).append(label)
    num_rows = {}
    if data.data_dir is None:  # generated samples
        num_rows = {name: len(rows) for name, rows in predictions.items()}
    path, filled = glue_submission.write(folder, predictions, num_rows=num_rows)
    logging.info("submission: %s", path)
    if filled:
        names = ", ".join(filled)
        logging.warning(
            f"constant predictions (no model or test file): {names}"
        )
    return results.write(
        workdir,
        run="submission",
        task="glue",
        split="test",
        metrics={},
        num_examples=sum(map(len, predictions.values())),
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        filled=filled,
        **facts,
    )


def _benchmarks(name):
    """Return the benchmarks that the model of a task predicts."""
    names = (name, "ax") if name == "mnli" else (name,)
    return [benchmarks.benchmark(each) for each in names]
