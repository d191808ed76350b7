"""What TensorFlow Serving reads; asked as it is asked, through its protos."""

import functools
import json
import pathlib
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from tensorflow_serving.apis import prediction_log_pb2

from gpt1_keras.data import examples
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.serving import tf_saved_model
from gpt1_keras.serving import tf_served
from gpt1_keras.tasks import benchmarks
from gpt1_keras.text import tf_tokenizer
from tests.reference import processes
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

TEXTS = [
    "The old captain walked under a tall tree.",
    "our gate",
    "",
    "the garden " * 30,
    "Near, near - nearer!\nWalked",
]
# What no person writes.
HOSTILE = [
    *(b"", b"\xff\xfe\x00", b"\x00" * 9, b"a" * 1_000_000, b" " * 100_000),
    *("\u202e\U0001f600\u0301".encode(), b"&#0;&#xffffffff;<"),
]
REQUESTS = [{"text": ["old tree"], "text_pair": ["our gate"]}]


def rows_of(name):
    """Examples of what a task takes, one of them too long."""
    end = 6 if name == "race" else 2
    rotated = [TEXTS[i:] + TEXTS[:i] for i in range(len(TEXTS))]
    return [
        examples.Example(texts[0], texts[1], (*texts, texts[0])[2:end])
        for texts in rotated
    ]


@functools.cache
def folder():
    """Deleted when Python ends; below it, the preset of a language model."""
    made = tempfile.TemporaryDirectory()
    tiny_task.write_preset(pathlib.Path(made.name, "pretrained"))
    return made


@functools.cache
def model(name):
    path = pathlib.Path(folder().name)
    return tiny_fine_tuned.write(path / name, name, path / "pretrained")


@functools.cache
def server(name):
    return tf_saved_model.TaskServer(model(name), graph_tokenizer())


@functools.cache
def signature(name, which="serving_default"):
    return server(name).signatures()[which]


@functools.cache
def graph_tokenizer():
    tokenizer = language_model().preprocessor.tokenizer.pipeline
    return tf_tokenizer.GraphTokenizer(tokenizer)


@functools.cache
def language_model():
    preset = f"{folder().name}/pretrained"
    return causal_lm.GPT1CausalLM.from_preset(preset)


@functools.cache
def language_model_server():
    return tf_saved_model.LanguageModelServer(
        language_model(), graph_tokenizer()
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved") / "1"
    tf_saved_model.write(
        server("rte"),
        directory,
        labels=["entailment", "not_entailment"],
        requests=REQUESTS,
    )
    return directory


def tensors(inputs):
    return {name: tf.constant(value) for name, value in inputs.items()}


def expected():
    return server("rte").answer(**REQUESTS[0])["probabilities"].numpy()


def test_warm_up_requests_are_answered(directory):
    labels = (directory / "assets" / "labels.txt").read_text()
    assert labels == "entailment\nnot_entailment\n"
    path = directory / "assets.extra" / "tf_serving_warmup_requests"
    (record,) = tf.data.TFRecordDataset([str(path)])
    log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
    request = log.predict_log.request
    inputs = {k: tf.make_ndarray(v) for k, v in request.inputs.items()}
    signatures = tf.saved_model.load(directory).signatures
    found = signatures[request.model_spec.signature_name](**tensors(inputs))
    np.testing.assert_allclose(found["probabilities"], expected(), atol=1e-6)


def test_as_a_layer_of_keras_3(directory):
    layer = keras.layers.TFSMLayer(str(directory), call_endpoint="serve")
    found = layer(tensors(REQUESTS[0]))
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


def test_a_full_disk_is_not_a_full_memory(monkeypatch, tmp_path):
    def save(*_, **__):
        raise tf.errors.ResourceExhaustedError(None, None, "x; No space left")

    monkeypatch.setattr(tf.saved_model, "save", save)
    with pytest.raises(OSError, match="No space left on device"):
        tf_saved_model.write(server("rte"), tmp_path, labels=[], requests=[])


LENGTH = tiny_fine_tuned.LENGTH


# Two texts, a score and choices.
@pytest.mark.parametrize("name", ["rte", "stsb", "race"])
def test_answers_are_those_of_the_model_with_the_python_tokenizer(name):
    rows = rows_of(name)
    texts = server(name).texts
    inputs = tensors({t: [getattr(row, t) for row in rows] for t in texts})
    found = {k: v.numpy() for k, v in signature(name)(**inputs).items()}
    logits = tiny_fine_tuned.logits_one_by_one(model(name), rows)
    expected = special.softmax(logits, axis=-1)
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    if name == "stsb":
        scores = expected @ np.arange(6)
        np.testing.assert_allclose(found["score"], scores, atol=1e-4)
    else:
        names = benchmarks.benchmark(name).label_space.class_names
        best = logits.argmax(-1).tolist()
        right = [names[i].encode() for i in best] if names else best
        assert found["label"].tolist() == right
    assert found["is_cut"].any()
    assert name == "race" or not found["is_cut"].all()


def compared(served, answers, name):
    """What is said of right answers of which one number is 0.1 too large."""
    answers = {key: np.array(value) for key, value in answers.items()}
    answers[name].flat[1] += 0.1
    return served.compare([answers])[1]


def test_how_far_answers_are_from_those_of_the_keras_model(monkeypatch):
    model("stsb")
    tuned = presets.FineTuned(f"{folder().name}/stsb")
    rows = tuned.labelled(benchmarks.benchmark("stsb"), rows_of("stsb"), "dev")
    task = tf_served.ServedTask(tuned, rows, graph_tokenizer(), "float32")
    texts = [examples.Example(text) for text in TEXTS]
    text = tf_served.ServedLanguageModel(
        language_model(), texts, graph_tokenizer(), "float32"
    )
    tokens = text.network.preprocessor.tokenizer(TEXTS[1])
    right = {
        served: served.server.answer(**tensors(*served.requests))
        for served in (task, text)
    }
    for served, name, expected, share in (
        (task, "score", 0.1 / 5, {"same_predictions": 0.8}),
        (task, "probabilities", 0.1, {"same_predictions": 1.0}),
        (text, "log_probability", 0.1 / len(tokens), {"same_num_tokens": 1.0}),
    ):
        found = compared(served, right[served], name)
        difference = found["largest_difference"]
        assert difference == pytest.approx(expected, abs=1e-4)
        assert share.items() <= found.items() and found["compared_rows"] == 5
    monkeypatch.setattr(rows.task.label_space, "score_range", [-5, 5])
    difference = compared(task, right[task], "score")["largest_difference"]
    assert difference == pytest.approx(0.1 / 10, abs=1e-4)


def test_score_is_the_sum_over_tokens():
    model = language_model()
    score = language_model_server().signatures()["score"]
    assert score(text=tf.constant([], tf.string))["num_tokens"].shape == (0,)
    texts = [*TEXTS, "a " * LENGTH, "a " * (LENGTH + 1)]
    found = score(text=tf.constant(texts))
    tokenizer = model.preprocessor.tokenizer.pipeline
    for i, text in enumerate(texts):
        ids = tokenizer.encode(text)
        assert found["is_cut"][i].numpy() == (len(ids) > LENGTH)
        ids = [tokenizer.opening_id, *ids[:LENGTH]]
        assert found["num_tokens"][i].numpy() == len(ids) - 1
        expected = small_models.log_probabilities(model, ids).sum()
        assert found["log_probability"][i].numpy() == pytest.approx(
            expected, abs=1e-3
        )


def test_an_lstm_answers_requests_without_text():
    known = language_model()
    size = known.backbone.vocabulary_size
    network = causal_lm.GPT1CausalLM(
        backbone=small_models.lstm_network(vocabulary_size=size),
        preprocessor=known.preprocessor,
    )
    server = tf_saved_model.LanguageModelServer(network, graph_tokenizer())
    score = server.signatures()["score"]
    both = score(text=tf.constant(["", TEXTS[0]]))["log_probability"].numpy()
    assert both[0] == 0 and both[1] < -10
    for texts in ([""], []):
        found = score(text=tf.constant(texts, tf.string))
        assert found["log_probability"].numpy().tolist() == [0.0] * len(texts)


def test_ids_in():
    tokens = language_model_server().signatures()["tokens"]
    ids = np.array([[1, 5, 2], [7, 7, 1]], "int32")
    found = tokens(token_ids=tf.constant(ids))
    expected = language_model()(small_models.inputs(ids))
    np.testing.assert_allclose(found["logits"], expected, atol=1e-5)


def test_hostile_input(capfd):
    empty, million = HOSTILE.index(b""), HOSTILE.index(b"a" * 1_000_000)
    found = signature("rte")(
        text=tf.constant(HOSTILE), text_pair=tf.constant(HOSTILE[::-1])
    )
    probabilities = found["probabilities"].numpy()
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-5)
    assert found["is_cut"].numpy()[million]
    server = language_model_server()
    found = server.signatures()["score"](text=tf.constant(HOSTILE))
    assert np.isfinite(found["log_probability"]).all()
    lengths = found["num_tokens"].numpy()
    assert lengths.min() == 0 and lengths.max() == LENGTH
    assert lengths[empty] == 0 and found["log_probability"][empty] == 0.0
    assert found["is_cut"][million] and not found["is_cut"][empty]
    printed = "".join(capfd.readouterr())
    assert not [c for c in ("aaaaaaaa", "\u202e", "\x00") if c in printed]


def test_ids_out_of_range_are_errors():
    answer = signature("rte", "tokens")
    for last, place, message in (
        (999, 2, "token_ids must be 0 to"),
        (-1, 2, "token_ids must be 0 to"),
        (2, -1, "extract_position .* must be 0 to T - 1"),
        (2, 3, "extract_position .* must be 0 to T - 1"),
    ):
        inputs = tf.constant([[[0, 1, last]]]), tf.constant([[place]])
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            answer(token_ids=inputs[0], extract_position=inputs[1])
    tokens = language_model_server().signatures()["tokens"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 0 to"):
        tokens(token_ids=tf.constant([[0, 9999]], tf.int32))


def test_frozen_network_has_stored_weights_and_no_dropout():
    inputs = keras.Input((4,))
    hidden = keras.layers.Dense(5, activation="tanh")(inputs)
    outputs = keras.layers.Dense(2)(keras.layers.Dropout(0.5)(hidden))
    network = keras.Model(inputs, outputs)
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    before = network(x, training=False)
    np.testing.assert_array_equal(
        tf_saved_model.FrozenNetwork(network)(x), before
    )
    frozen = tf_saved_model.FrozenNetwork(network, "float16")
    for variable in network.trainable_variables:
        rounded = np.asarray(variable).astype("float16").astype("float32")
        variable.assign(rounded)
    np.testing.assert_array_equal(frozen(x), network(x))
    assert np.abs(frozen(x) - before).max() > 0
