"""A model to a SavedModel for TensorFlow Serving, checked in a bare process."""

import importlib.util
import shutil
import time

import keras
from absl import logging

from gpt1_keras import errors
from gpt1_keras.runs import presets
from gpt1_keras.runs import result
from gpt1_keras.runs import served_language_model
from gpt1_keras.runs import served_task
from gpt1_keras.serving import bare_process
from gpt1_keras.serving import model_card


def export(*, workdir, config_sha256, preset, options, tolerance, num_warm_up):
    """Write `workdir/saved_model/N`, N one more than the last.

    The SavedModel takes plain strings. Before it gets its number it answers
    the rows of a split in a process of its own without Keras and tokenizers,
    and the answers are compared with those of the Keras model.

    Args:
        workdir: pathlib.Path of everything the run writes.
        config_sha256: str, goes into the result.
        preset: path of a run or its preset.
        options: `serving_options.Options`.
        tolerance: float. How far a probability, score or log-probability per
            token may be from the model's where the ids are the same.
        num_warm_up: int. Requests that are answered while loading.

    Returns:
        path of `result.json`.

    Raises:
        RuntimeError: the SavedModel does not answer as the model does.
    """
    _check_tensorflow()
    directory = presets.find_best(preset)
    if not presets.is_newer(directory, result.path(workdir)):
        if result.is_finished(workdir, config_sha256):
            return result.path(workdir)
    started = time.monotonic()
    build = served_language_model.ServedLanguageModel
    if presets.has_head(directory):
        build = served_task.ServedTask
    served = build(directory, options)
    saved_model, metrics = _publish(
        served,
        workdir,
        tolerance=tolerance,
        num_warm_up=num_warm_up,
        weights_dtype=options.weights_dtype,
        config_sha256=config_sha256,
    )
    logging.info("exported: %s", saved_model)
    for name, value in metrics.items():
        logging.info("  %-20s %.6g", name, value)
    return result.write(
        workdir,
        run="export",
        task=served.name,
        split=served.split,
        metrics=metrics,
        paper={},
        num_examples=len(served),
        seed=None,
        config_sha256=config_sha256,
        seconds=time.monotonic() - started,
        preset=str(served.preset),
        saved_model=str(saved_model.relative_to(workdir)),
    )


def _publish(served, workdir, *, tolerance, num_warm_up, **facts):
    """Write and check the next version; return its path and metrics."""
    from gpt1_keras.serving import tf_saved_model

    temporary = workdir / ".saved_model.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    requests = served.requests()
    tf_saved_model.write(
        served.server,
        temporary,
        labels=served.labels,
        requests=requests[:num_warm_up],
    )
    logging.info(
        "answering %s rows of %s in a process without Keras",
        *(f"{len(served):,}", served.split),
    )
    answers = bare_process.answers(temporary, requests)
    metrics, compared = served.compare(answers)
    _check_agreement(temporary, compared, tolerance)
    card = model_card.text(
        name=served.name,
        preset=served.preset,
        num_examples=len(served),
        split=served.split,
        metrics=metrics,
        compared=compared,
        labels=served.labels,
        request={name: rows[:1] for name, rows in requests[0].items()},
        num_parameters=served.num_parameters,
        sequence_length=served.sequence_length,
        **facts,
    )
    extra = temporary / tf_saved_model.EXTRA
    (extra / "model_card.md").write_text(card, encoding="utf-8")
    saved_model = tf_saved_model.publish(temporary, workdir / "saved_model")
    return saved_model, metrics | compared


def _check_tensorflow():
    if importlib.util.find_spec("tensorflow") is None:
        raise errors.InputError(
            "a SavedModel is made with TensorFlow, which is not installed: "
            "pip install -r requirements.txt"
        )
    if keras.config.backend() != "tensorflow":
        raise errors.InputError(
            f"KERAS_BACKEND is {keras.config.backend()}: export with "
            "KERAS_BACKEND=tensorflow, whatever the model was trained with"
        )


def _check_agreement(saved_model, compared, tolerance):
    difference = compared["largest_difference"]
    if not difference <= tolerance:
        raise RuntimeError(
            f"{saved_model} is off by {difference:.2g} where its ids are those "
            f"of the model: more than {tolerance:.2g}, it is not published"
        )
