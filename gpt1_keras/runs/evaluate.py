"""Evaluation of a fine-tuned model on a split, and its predictions."""

import shutil
import sys
import time

from absl import logging

from gpt1_keras import checks
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.data.readers import custom as custom_lib
from gpt1_keras.evaluation import predictions as predictions_lib
from gpt1_keras.evaluation import text_view
from gpt1_keras.runs import presets
from gpt1_keras.runs import sources


def evaluate(
    *,
    workdir=None,
    config_sha256=None,
    preset: checks.Path,
    build_task: checks.TaskBuilder,
    data: sources.BenchmarkFiles,
    split: checks.Split,
    scoring: presets.Scoring,
    num_viewed: checks.Index,
    paper: checks.NotRecipe[checks.NamedNumbers],
):
    """Score a split; write metrics, plots and every prediction.

    `predictions.tsv` lists the worst errors first, `tokens.html` shows the
    model's attention in the `num_viewed` worst ones, and `plots/` has the
    confusion matrix or the scores. Without labels there are no metrics and
    plots, and predictions are in the order of the file. Without a workdir,
    predictions are printed in the order of the file, and nothing is written.
    """
    started = time.monotonic()
    model = presets.FineTuned(preset, scoring)
    task = build_task(model.preprocessor)
    found = data.read(task, split)
    examples = model.labelled(task, found, split)
    facts = {
        "preset_sha256": presets.sha256(model.directory),
        "examples_sha256": examples_lib.sha256(found, with_given=True),
    }
    table = workdir and workdir / "predictions.tsv"
    if workdir and table.exists():
        if results.is_finished(workdir, config_sha256, **facts):
            return results.path(workdir)
    space = task.label_space
    logits, labels = model.logits(examples), [None] * len(examples)
    predictions = space.predict(logits)
    metrics, majority, of_classes = {}, {}, {}
    num_lacking = sum(each.label is None for each in found)
    if not num_lacking:
        labels = list(map(space.value, found))
        metrics, majority = examples.measure(logits), examples.majority()
        of_classes = examples.confusion(logits)
        logging.info("%s: %s", examples.name, results.shown(metrics))
    elif workdir is not None:
        lacking = f"{num_lacking:,} of {len(examples):,} rows have no label"
        logging.info(f"{lacking}: all are predicted, none is scored")
    shares = space.probabilities(logits)
    rows, worst_first = predictions_lib.table(
        found, labels, predictions, shares, names=space.output_names
    )
    if workdir is None:
        sys.stdout.writelines(predictions_lib.lines(rows))
        sys.stdout.flush()
        return None
    plots = workdir / "plots"
    shutil.rmtree(plots, ignore_errors=True)  # of an earlier run on other rows
    lines = predictions_lib.lines([rows[i] for i in worst_first])
    files.write_atomic(table, "".join(lines))
    logging.info("predictions: %s", table)
    custom_lib.report_skipped(task.skipped, workdir)
    if metrics:
        metric, value = next(iter(metrics.items()))
        title = f"{examples.name}: {metric} {value:.3f}"
        if space.score_range:
            path = plots / "scores.png"
            predictions_lib.plot_scores(labels, predictions, path, title=title)
        else:
            # Choices are named by their index.
            names = space.class_names or [str(i) for i in range(len(shares[0]))]
            path = plots / "confusion.png"
            predictions_lib.plot_confusion(
                labels, predictions, names, path, title=title
            )
    if num_viewed and model.network.backbone.can_share_prefix:
        viewed = {i: rows[i] for i in worst_first[:num_viewed]}
        _view(workdir, model, examples, viewed)
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
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(model.directory),
        **facts,
        **of_classes,
    )


def _view(workdir, model, examples, rows):
    """Show what the extract token attends to in the `rows` {index: row}."""
    tokenizer = model.preprocessor.tokenizer.pipeline
    texts = []
    for i, row in rows.items():
        # Of several choices, show the predicted one.
        has_choices = examples.examples[i].choices
        candidate = int(row["prediction"]) if has_choices else 0
        ids = examples.encoded.candidates(i)[candidate]
        attention = text_view.attention(model.network.backbone, ids)
        # [L, H, T, T] -> [T]: last layer, from the last token
        shares = attention[-1, :, -1].mean(axis=0).tolist()
        place = next(name for name in ("line", "row") if name in row)
        title = f"{place} {row[place]}: predicted {row['prediction']}"
        if row.get("label"):
            title += f", labelled {row['label']}"
        pieces = [tokenizer.piece(index) for index in ids]
        texts.append(text_view.Text(title, text_view.attended(pieces, shares)))
    page = workdir / "tokens.html"
    title = f"What the model attends to: {examples.name}"
    text_view.write_page(page, title, text_view.ATTENTION_LEGEND, {"": texts})
    logging.info("attention: %s", page)
