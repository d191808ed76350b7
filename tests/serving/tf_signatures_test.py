import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from gpt1_keras.serving import tf_saved_model
from gpt1_keras.tasks import benchmarks
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_served

LENGTH = tiny_fine_tuned.LENGTH


def ask(name, rows):
    inputs = tiny_served.inputs(tiny_served.server(name), rows)
    found = tiny_served.signature(name)(**inputs)
    return {name: value.numpy() for name, value in found.items()}


@pytest.mark.parametrize("name", tiny_served.TASKS)
def test_answers_are_those_of_the_model_with_the_python_tokenizer(name):
    rows = tiny_served.rows(name)
    found = ask(name, rows)
    logits = tiny_fine_tuned.logits_one_by_one(tiny_served.model(name), rows)
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


def test_score_is_the_sum_over_tokens():
    model = tiny_served.language_model()
    server = tiny_served.language_model_server()
    found = server.signatures()["score"](text=tf.constant(tiny_served.TEXTS))
    tokenizer = model.preprocessor.tokenizer.pipeline
    for i, text in enumerate(tiny_served.TEXTS):
        ids = tokenizer.encode(text)
        assert found["is_cut"][i].numpy() == (len(ids) > LENGTH)
        ids = ids[:LENGTH]
        expected = 0.0
        for j, token in enumerate(ids):  # one by one, without padding
            before = np.array([[tokenizer.opening_id, *ids[:j], 0][:LENGTH]])
            logits = small_models.read(model(small_models.inputs(before)))
            expected += special.log_softmax(logits[0, j])[token]
        assert found["num_tokens"][i].numpy() == len(ids)
        assert found["log_probability"][i].numpy() == pytest.approx(
            expected, abs=1e-3
        )


def test_a_text_as_long_as_the_network_is_not_cut():
    server = tiny_served.language_model_server()
    texts = ["a " * LENGTH, "a " * (LENGTH + 1)]
    _, lengths, is_cut = server.ids(tf.constant(texts))
    assert lengths.numpy().tolist() == [LENGTH, LENGTH]
    assert is_cut.numpy().tolist() == [False, True]


def test_ids_in():
    network = tiny_served.model("rte")
    batch = network.preprocessor({"text": ["old tree"], "text_pair": ["gate"]})
    inputs = {name: tf.constant(value) for name, value in batch.items()}
    found = tiny_served.signature("rte", "tokens")(**inputs)
    expected = network(batch)["logits"]
    np.testing.assert_allclose(found["logits"], expected, atol=1e-6)
    tokens = tiny_served.language_model_server().signatures()["tokens"]
    ids = np.array([[1, 5, 2], [7, 7, 1]], "int32")
    found = tokens(token_ids=tf.constant(ids))
    expected = tiny_served.language_model()(small_models.inputs(ids))
    np.testing.assert_allclose(found["logits"], expected, atol=1e-5)


def test_hostile_input(capfd):
    texts = tiny_served.HOSTILE
    empty, million = texts.index(b""), texts.index(b"a" * 1_000_000)
    found = tiny_served.signature("rte")(
        text=tf.constant(texts), text_pair=tf.constant(texts[::-1])
    )
    probabilities = found["probabilities"].numpy()
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-5)
    assert found["is_cut"].numpy()[million]
    server = tiny_served.language_model_server()
    found = server.signatures()["score"](text=tf.constant(texts))
    assert np.isfinite(found["log_probability"]).all()
    lengths = found["num_tokens"].numpy()
    assert lengths.min() == 0 and lengths.max() == LENGTH
    assert lengths[empty] == 0 and found["log_probability"][empty] == 0.0
    assert found["is_cut"][million] and not found["is_cut"][empty]
    printed = "".join(capfd.readouterr())
    assert not [c for c in ("aaaaaaaa", "\u202e", "\x00") if c in printed]


def test_ids_out_of_range_are_errors():
    answer = tiny_served.signature("rte", "tokens")
    for last, place, message in (
        (999, 2, "token_ids must be 0 to"),
        (2, 3, "extract_position must be less than T"),
    ):
        inputs = tf.constant([[[0, 1, last]]]), tf.constant([[place]])
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            answer(token_ids=inputs[0], extract_position=inputs[1])
    tokens = tiny_served.language_model_server().signatures()["tokens"]
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
