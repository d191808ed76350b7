"""Predictions for the GLUE test server, as the zip it takes."""

import pathlib
import time

from absl import logging

from gpt1_keras import errors
from gpt1_keras.evaluation import glue_submission
from gpt1_keras.runs import fine_tuned
from gpt1_keras.runs import result
from gpt1_keras.tasks import benchmarks

# Task -> task whose model answers; the diagnostic set has none of its own.
_MODELS = {
    **{name: name for name in ("cola", "sst2", "mrpc", "stsb", "qqp")},
    **{name: name for name in ("mnli", "qnli", "rte", "wnli")},
    "ax": "mnli",
}


def submission(*, workdir, config_sha256, runs, data, scoring):
    """Predict the GLUE test files; write a checked `glue_submission.zip`.

    A task without a model gets a constant answer, and the run says so.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        runs: path of a folder with a fine-tuning workdir for each task, such
            as a suite's: `cola/`, `mnli/` ...
        data: `benchmark_files.BenchmarkFiles`.
        scoring: `fine_tuned.Scoring`.

    Returns:
        path of `result.json`.
    """
    if result.is_finished(workdir, config_sha256):
        return result.path(workdir)
    started = time.monotonic()
    runs = pathlib.Path(runs)
    there = [
        task
        for task, model in _MODELS.items()
        if (runs / model / result.path("").name).exists()
    ]
    if not there:
        raise errors.InputError(
            f"RUNS {runs} has no finished GLUE run (no {runs / 'cola'} or "
            "others): give a suite's workdir"
        )
    predictions, num_rows = {}, {}
    for task in there:
        found = _predict(task, runs / _MODELS[task], data, scoring)
        predictions |= found
        if data.is_sample:
            num_rows |= {name: len(rows) for name, rows in found.items()}
    path, filled = glue_submission.write(
        workdir / "submission", predictions, num_rows=num_rows
    )
    if filled:
        logging.warning(
            "no model for %s: their files hold one constant answer",
            ", ".join(filled),
        )
    problems = glue_submission.check(path, num_rows=num_rows)
    if problems:
        raise errors.InputError(f"{path}: {problems[0]}")
    logging.info("checked: %s", path)
    return result.write(
        workdir,
        run="submission",
        task="glue",
        split="test",
        metrics={},
        paper={},
        num_examples=sum(map(len, predictions.values())),
        seed=None,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        filled=filled,
    )


def _predict(name, run, data, scoring):
    """Return {task of the submission: label words or scores in file order}."""
    task = benchmarks.benchmark(name)
    model = fine_tuned.FineTuned(run, scoring)
    if model.preprocessor.task != _MODELS[name]:
        raise errors.InputError(
            f"{run} holds a model of {model.preprocessor.task}: RUNS must have "
            f"one of {_MODELS[name]} there"
        )
    examples = model.labelled(task, data.read(task, "test"), "test")
    predicted = task.target.predict(model.logits(examples))
    words = [task.target.word(each) for each in predicted]
    if name != "mnli":
        return {name: words}
    groups = [example.group for example in examples.examples]
    return {
        f"mnli_{group}": [w for w, g in zip(words, groups) if g == group]
        for group in sorted(set(groups))
    }
