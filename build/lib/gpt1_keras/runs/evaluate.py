"""Evaluation of a fine-tuned model on a split, row by row."""

import time

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import results
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.evaluation import confusion
from gpt1_keras.evaluation import predictions as predictions_lib
from gpt1_keras.evaluation import text_view
from gpt1_keras.models import inspection
from gpt1_keras.runs import presets


def evaluate(
    *,
    workdir,
    config_sha256,
    preset: checks.Path,
    build_task,
    data,
    split: checks.Split,
    scoring,
    num_viewed: checks.Index,
    paper: checks.NotRecipe[dict],
):
    """Score a split; write metrics, plots and every prediction.

    `predictions.tsv` lists the worst errors first, `tokens.html` shows the
    model's attention in these, and `plots/` the confusion matrix or the
    scores. Without labels there are no metrics and plots, and predictions are
    in the order of the file.

    Args:
        preset: see `presets.find_best`.
        build_task: function from the `GPT1TaskPreprocessor` of the preset to
            a `tasks.task.Task`.
        data: `sources.BenchmarkFiles`.
        split: str: "train", "dev" or "test".
        scoring: `presets.Scoring`.
        num_viewed: int. Examples in `tokens.html`; 0 leaves it out.
        paper: dict from a task's name to the paper's metrics.
    """
    started = time.monotonic()
    model = presets.FineTuned(preset, scoring)
    task = build_task(model.preprocessor)
    examples = model.labelled(task, data.read(task, split), split)
    digest = examples_lib.sha256(examples.examples)
    if presets.is_measured(
        workdir, config_sha256, [model.directory], examples_sha256=digest
    ):
        return results.path(workdir)
    logits = model.logits(examples)
    space = task.label_space
    labels = [None] * len(examples)
    metrics, majority = {}, {}
    if all(example.label is not None for example in examples.examples):
        labels = [space.value(example) for example in examples.examples]
        metrics, majority = examples.measure(logits), examples.majority()
        _plot(workdir, examples.name, space, labels, logits, metrics)
        logging.info("%s: %s", examples.name, results.shown(metrics))
    table = workdir / "predictions.tsv"
    rows = predictions_lib.write(
        table,
        examples.examples,
        labels,
        space.predict(logits),
        space.probabilities(logits),
        names=space.output_names,
    )
    logging.info("predictions: %s", table)
    custom_lib.report_skipped(task.skipped, workdir)
    if num_viewed and inspection.has_attention(model.network.backbone):
        _view(workdir, model, examples, rows[:num_viewed])
    return results.write(
        workdir,
        run="evaluate",
        task=task.name,
        split=split,
        metrics=metrics,
        majority=majority,
        paper=paper.get(task.name, {}),
        num_examples=len(examples),
        num_cut=examples.encoded.num_cut,
        examples_sha256=digest,
        seed=None,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(model.directory),
    )


def _view(workdir, model, examples, rows):
    """Show what the extract token attends to in rows of the table."""
    tokenizer = model.preprocessor.tokenizer.pipeline
    texts = []
    for row in rows:
        # Of several choices, the predicted one.
        candidate = int(row["prediction"]) if row["choices"] else 0
        ids = examples.encoded.candidates(row["row"])[candidate]
        attention = inspection.attention(model.network.backbone, ids)
        # [L, H, T, T] -> [T]: last layer, from the last token
        shares = attention[-1, :, -1].mean(axis=0).tolist()
        title = f"row {row['row']}: predicted {row['prediction']}"
        if row["label"]:
            title += f", labelled {row['label']}"
        pieces = [tokenizer.piece(index) for index in ids]
        texts.append(text_view.Text(title, text_view.attended(pieces, shares)))
    page = text_view.write(
        workdir / "tokens.html",
        texts,
        title=f"What the model attends to: {examples.name}",
        legend=text_view.ATTENTION_LEGEND,
    )
    logging.info("attention in the worst errors: %s", page)


def _plot(workdir, name, space, labels, logits, metrics):
    """Plot predictions against labels; choices are named by their index."""
    predictions = space.predict(logits)
    metric, value = next(iter(metrics.items()))
    title = f"{name}: {metric} {value:.3f}"
    plots = workdir / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    if space.score_range:
        path = plots / "scores.png"
        confusion.scatter(labels, predictions, path, title=title)
        return
    names = space.class_names or [
        str(i) for i in range(int(np.max([labels, predictions])) + 1)
    ]
    path = plots / "confusion.png"
    confusion.plot(labels, predictions, names, path, title=title)
