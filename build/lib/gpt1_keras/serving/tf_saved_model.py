"""SavedModels in TensorFlow Serving's layout: versions, assets, warm-up."""

import contextlib
import pathlib
import shutil
import tempfile

import tensorflow as tf
from absl import logging
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2

from gpt1_keras import files

EXTRA = "assets.extra"
WARM_UP = "tf_serving_warmup_requests"
_NAME = "gpt1_keras"  # TensorFlow Serving replaces it


def next_version(folder):
    """Return the next version in `folder`: the largest number is served."""
    folder = pathlib.Path(folder)
    found = [
        int(path.name) for path in folder.glob("*") if path.name.isdecimal()
    ]
    return folder / str(max(found, default=0) + 1)


def write(server, directory, *, labels, requests):
    """Write `server` with labels and warm-up requests to `directory`.

    The default signature is also callable as `serve`, a function of a dict,
    which `keras.layers.TFSMLayer` needs.

    Args:
        server: tf.Module with `signatures()`.
        directory: pathlib.Path.
        labels: list of str by class, written to `assets/labels.txt`; may be
            empty.
        requests: list of dicts from an input's name to strings, answered
            while the model loads, before its first user asks.
    """
    with tempfile.TemporaryDirectory() as folder:
        if labels:
            path = pathlib.Path(folder) / "labels.txt"
            lines = [files.escape_line(label) + "\n" for label in labels]
            path.write_text("".join(lines), encoding="utf-8")
            server.labels = tf.saved_model.Asset(str(path))
        with _quiet():
            signatures = server.signatures()
            default = signatures["serving_default"]
            specs = tf.nest.flatten(default.structured_input_signature)
            server.serve = tf.function(
                lambda inputs: default(**inputs),
                input_signature=[{s.name: s for s in specs if s is not None}],
            )
            tf.saved_model.save(server, str(directory), signatures=signatures)
    extra = directory / EXTRA
    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / WARM_UP)) as writer:
        for request in requests:
            log = prediction_log_pb2.PredictionLog(
                predict_log=prediction_log_pb2.PredictLog(
                    request=predict_request(request)
                )
            )
            writer.write(log.SerializeToString())


@contextlib.contextmanager
def _quiet():
    """Suppress TensorFlow's warnings about names while it saves."""
    loggers = [logging.get_absl_logger(), tf.get_logger()]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel("ERROR")
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def predict_request(inputs, *, name=_NAME, signature="serving_default"):
    """Return a request as a protocol buffer, for gRPC and warm-up.

    `inputs` maps an input's name to nested lists of str or numbers.
    """
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def publish(directory, folder):
    """Move a SavedModel to the next version in `folder`; return its path."""
    target = next_version(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    files.make_readable(directory)
    shutil.move(directory, target)
    return target
