"""What TensorFlow Serving reads; asked as it is asked, through its protos."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from gpt1_keras.serving import tf_saved_model
from tests.reference import processes
from tests.reference import tiny_served

REQUESTS = [{"text": ["old tree"], "text_pair": ["our gate"]}]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved") / "1"
    tf_saved_model.write(
        tiny_served.server("rte"),
        directory,
        labels=["entailment", "not_entailment"],
        requests=REQUESTS,
    )
    return directory


def expected():
    server = tiny_served.server("rte")
    return server.answer(**REQUESTS[0])["probabilities"].numpy()


def test_warm_up_requests_are_answered(directory):
    path = directory / "assets.extra" / "tf_serving_warmup_requests"
    (record,) = tf.data.TFRecordDataset([str(path)])
    log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
    request = log.predict_log.request
    inputs = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
    signatures = tf.saved_model.load(directory).signatures
    found = signatures[request.model_spec.signature_name](
        **{name: tf.constant(value) for name, value in inputs.items()}
    )
    np.testing.assert_allclose(found["probabilities"], expected(), atol=1e-6)


def test_as_a_layer_of_keras_3(directory):
    layer = keras.layers.TFSMLayer(str(directory), call_endpoint="serve")
    found = layer({k: tf.constant(v) for k, v in REQUESTS[0].items()})
    np.testing.assert_allclose(found["probabilities"], expected(), atol=1e-6)


def test_keras_2_users_load_it(directory):
    """In a process of its own: tf_keras and Keras 3 do not mix."""
    code = (
        "import sys, tf_keras, tensorflow as tf\n"
        "model = tf_keras.models.load_model(sys.argv[1])\n"
        "answer = model.signatures['serving_default']\n"
        "found = answer(text=tf.constant(['old tree']),"
        " text_pair=tf.constant(['our gate']))\n"
        "print(found['probabilities'].numpy().tolist())\n"
    )
    done = processes.python("-c", code, directory)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    np.testing.assert_allclose(found, expected(), atol=1e-6)


def test_the_next_version_is_above_the_largest(tmp_path):
    assert tf_saved_model.next_version(tmp_path) == tmp_path / "1"
    for name in ("3", "9.tmp"):
        (tmp_path / name).mkdir()
    assert tf_saved_model.next_version(tmp_path) == tmp_path / "4"
