"""What TensorFlow Serving reads; asked as it is asked, through its protos."""

import concurrent.futures
import contextlib
import json
import pathlib
import re
import subprocess
import sys

import grpc
import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_log_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

from gpt1_keras.serving import tf_saved_model
from tests.reference import tiny_served

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS_OF_THE_MANUAL = {"sst2", "rte", "mrpc", "stsb", "race", "mini"}
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


@pytest.fixture(scope="module")
def model(directory):
    return tf.saved_model.load(directory)


def expected():
    server = tiny_served.server("rte")
    return server.answer(**REQUESTS[0])["probabilities"].numpy()


def test_versions(tmp_path):
    folder = tmp_path / "saved_model"
    assert tf_saved_model.next_version(folder) == folder / "1"
    for expected_name in ("1", "2"):
        temporary = tmp_path / "made"
        temporary.mkdir()
        (temporary / "file").write_text(expected_name)
        (temporary / "file").chmod(0o600)
        published = tf_saved_model.publish(temporary, folder)
        assert published == folder / expected_name
        assert (published / "file").stat().st_mode & 0o777 == 0o644
        assert (published / "file").read_text() == expected_name
    (folder / "10").mkdir()
    (folder / "11.tmp").mkdir()
    assert tf_saved_model.next_version(folder) == folder / "11"


def test_labels_and_signatures(directory, model):
    labels = (directory / "assets" / "labels.txt").read_text()
    assert labels == "entailment\nnot_entailment\n"
    assert set(model.signatures) == {"serving_default", "tokens"}


def test_warm_up_requests_are_answered(directory, model):
    path = directory / "assets.extra" / "tf_serving_warmup_requests"
    (record,) = tf.data.TFRecordDataset([str(path)])
    log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
    request = log.predict_log.request
    assert request.model_spec.signature_name == "serving_default"
    np.testing.assert_allclose(
        answer(model, request)["probabilities"], expected(), atol=1e-6
    )


def inputs_of(request):
    """Return the inputs of a `PredictRequest` as tensors."""
    return {
        name: tf.constant(tf.make_ndarray(value))
        for name, value in request.inputs.items()
    }


def answer(model, request):
    signature = model.signatures[request.model_spec.signature_name]
    found = signature(**inputs_of(request))
    return {name: value.numpy() for name, value in found.items()}


@contextlib.contextmanager
def serving(answer_request):
    """Yields the port of a server: the messages are real, the service ours.

    Args:
        answer_request: function of a `PredictRequest` to a dict of arrays.
    """

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):
            response = predict_pb2.PredictResponse()
            for name, value in answer_request(request).items():
                response.outputs[name].CopyFrom(tf.make_tensor_proto(value))
            return response

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        Service(), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None)


def server_of(name):
    """Return the server that answers for a model of the manual's name."""
    if name == "mini":
        return tiny_served.language_model_server()
    return tiny_served.server(name)


def manual():
    return (ROOT / "tools" / "serve.md").read_text(encoding="utf-8")


def test_rest_requests_of_the_manual():
    """One for each family; the body is what the signature takes."""
    commands = re.findall(r"/models/(\w+):predict -d '(.*)'\n", manual())
    assert {name for name, _ in commands} == MODELS_OF_THE_MANUAL
    for name, body in commands:
        body = json.loads(body)
        wanted = "score" if name == "mini" else "serving_default"
        assert body.pop("signature_name", "serving_default") == wanted
        inputs = {k: tf.constant(v) for k, v in body.pop("inputs").items()}
        assert not body
        assert tuple(inputs) == server_of(name).texts
        server_of(name).answer(**inputs)


def test_grpc_requests_of_the_manual(capsys):
    """The program as it stands there, but for the port, over the wire."""
    asked = []

    def answer_request(request):
        name = request.model_spec.name
        asked.append((name, request.model_spec.signature_name))
        found = server_of(name).answer(**inputs_of(request))
        return {key: value.numpy() for key, value in found.items()}

    code = re.search(r"```python\n(import grpc\n.*?)```", manual(), re.DOTALL)
    with serving(answer_request) as port:
        address = f"127.0.0.1:{port}"
        assert "localhost:8500" in code[1]
        exec(code[1].replace("localhost:8500", address), {})
    assert {name for name, _ in asked} == MODELS_OF_THE_MANUAL
    assert ("mini", "score") in asked
    assert len(capsys.readouterr().out.splitlines()) == len(asked)


def test_as_a_layer_of_keras_3(directory):
    layer = keras.layers.TFSMLayer(str(directory), call_endpoint="serve")
    found = layer({k: tf.constant(v) for k, v in REQUESTS[0].items()})
    np.testing.assert_allclose(found["probabilities"], expected(), atol=1e-6)


def run_python(*arguments):
    """Return what a process of its own prints."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_saved_model_cli(directory, tmp_path):
    """The command that TensorFlow brings, with strings."""
    inputs = ";".join(f"{k}={v!r}" for k, v in REQUESTS[0].items())
    run_python(
        *("-m", "tensorflow.python.tools.saved_model_cli", "run"),
        *("--dir", directory, "--tag_set", "serve"),
        *("--signature_def", "serving_default"),
        *("--input_exprs", inputs, "--outdir", tmp_path),
    )
    found = np.load(tmp_path / "probabilities.npy")
    np.testing.assert_allclose(found, expected(), atol=1e-6)


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
    printed = run_python("-c", code, directory)
    found = json.loads(printed.splitlines()[-1])
    np.testing.assert_allclose(found, expected(), atol=1e-6)
