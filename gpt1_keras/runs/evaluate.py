"""A fine-tuned model on a split of its task, row by row."""

import time

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import results
from gpt1_keras.data import examples as examples_lib
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
    """Score a split; write metrics, pictures and every prediction.

    `predictions.tsv` has the worst errors first, `tokens.html` what the model
    attends to in these, `plots/` the confusion or the scores. Without labels
    there are no plots and no metrics, and the order is that of the file.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        preset: path of a fine-tuning run.
        build_task: function from its preprocessor to a `tasks.task.Task`.
        data: `sources.BenchmarkFiles`.
        split: str: "train", "dev" or "test".
        scoring: `presets.Scoring`.
        num_viewed: int. Examples in `tokens.html`; 0 leaves it out.
        paper: dict from a task's name to the paper's metrics.

    Returns:
        path of `result.json`.
    """
    directory = presets.find_best(preset)
    started = time.monotonic()
    model = presets.FineTuned(directory, scoring)
    task = build_task(model.preprocessor)
    examples = model.labelled(task, data.read(task, split), split)
    digest = examples_lib.sha256(examples.examples)
    if _is_done(workdir, directory, digest, config_sha256):
        return results.path(workdir)
    logits = model.logits(examples)
    has_labels = all(e.label is not None for e in examples.examples)
    _write_predictions(workdir, examples, logits, has_labels)
    if num_viewed and inspection.has_attention(model.network.backbone):
        _view(workdir, model, examples, num_viewed)
    metrics, majority = {}, {}
    if has_labels:
        metrics, majority = _measure(workdir, examples, logits)
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


def _is_done(workdir, preset, digest, config_sha256):
    """Whether this model was scored on these rows; mended ones are new."""
    path = results.path(workdir)
    return (
        path.exists()
        and not presets.is_newer(preset, path)
        and results.read(workdir).get("examples_sha256") == digest
        and results.is_finished(workdir, config_sha256)
    )


def _measure(workdir, examples, logits):
    """Draw and return the metrics, and those of the best constant guess."""
    metrics = examples.measure(logits)
    _plot(workdir, examples, logits, metrics)
    logging.info(
        "%s: %s",
        examples.name,
        ", ".join(f"{k} {v:.4f}" for k, v in metrics.items()),
    )
    return metrics, examples.majority()


def _write_predictions(workdir, examples, logits, has_labels):
    space = examples.task.label_space
    labels = [None] * len(examples)
    if has_labels:
        labels = [space.value(example) for example in examples.examples]
    predictions_lib.write(
        workdir / "predictions.tsv",
        examples.examples,
        labels,
        space.predict(logits),
        space.probabilities(logits),
        names=space.output_names,
    )
    logging.info("predictions: %s", workdir / "predictions.tsv")


def _view(workdir, model, examples, num_viewed):
    """Show what the answer attends to in the first rows of the table."""
    tokenizer = model.preprocessor.tokenizer.pipeline
    rows = predictions_lib.read(workdir / "predictions.tsv")[:num_viewed]
    texts = []
    for row in rows:
        # Of several choices the one that was taken.
        candidate = int(row["prediction"]) if row["choices"] else 0
        ids = examples.encoded.candidates(row["row"])[candidate]
        attention = inspection.attention(model.network.backbone, ids)
        texts.append(
            text_view.Text(
                f"row {row['row']}: predicted {row['prediction']}"
                + (f", labelled {row['label']}" if row["label"] else ""),
                text_view.attended(
                    [tokenizer.piece(index) for index in ids],
                    # [L, H, T, T] -> [T]: last layer, from the last token
                    attention[-1, :, -1].mean(axis=0).tolist(),
                ),
            )
        )
    page = text_view.write(
        workdir / "tokens.html",
        texts,
        title=f"What the model attends to: {examples.name}",
        legend=text_view.ATTENTION_LEGEND,
    )
    logging.info("attention in the worst of them: %s", page)


def _plot(workdir, examples, logits, metrics):
    """Draw predicted against true; choices are named by their place."""
    space = examples.task.label_space
    truth = [space.value(example) for example in examples.examples]
    predictions = space.predict(logits)
    name, value = next(iter(metrics.items()))
    title = f"{examples.name}: {name} {value:.3f}"
    plots = workdir / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    if space.score_range:
        confusion.scatter(truth, predictions, plots / "scores.png", title=title)
        return
    names = space.class_names or [
        str(i) for i in range(int(np.max([truth, predictions])) + 1)
    ]
    confusion.plot(
        truth, predictions, names, plots / "confusion.png", title=title
    )
