import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_served


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
        np.testing.assert_allclose(
            found["score"], expected @ np.arange(6), atol=1e-4
        )
    else:
        words = benchmarks.benchmark(name).target.words
        best = logits.argmax(-1).tolist()
        right = [words[i].encode() for i in best] if words else best
        assert found["label"].tolist() == right
    assert found["is_cut"].any() and (
        name == "race" or not found["is_cut"].all()
    )


def test_ids_in():
    network = tiny_served.model("rte")
    batch = network.preprocessor({"text": ["old tree"], "text_pair": ["gate"]})
    found = tiny_served.signature("rte", "tokens")(
        **{name: tf.constant(value) for name, value in batch.items()}
    )
    np.testing.assert_allclose(
        found["logits"], network(batch)["logits"], atol=1e-6
    )


@pytest.mark.parametrize("name", ["sst2", "rte", "race"])
def test_empty_batch(name):
    server = tiny_served.server(name)
    empty = {
        key: tf.zeros([0, 4] if key == "choices" else [0], tf.string)
        for key in server.texts
    }
    found = tiny_served.signature(name)(**empty)
    assert found["probabilities"].shape[0] == 0


def test_hostile_input():
    texts = [b"\xff\xfe\x00", b"\x00" * 9, b"a" * 1_000_000, b" " * 100_000]
    texts += ["\u202e\U0001f600\u0301".encode(), b"&#0;&#xffffffff;<"]
    found = tiny_served.signature("rte")(
        text=tf.constant(texts), text_pair=tf.constant(texts[::-1])
    )
    probabilities = found["probabilities"].numpy()
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-5)
    assert found["is_cut"].numpy()[2]


def test_wrong_shapes_are_named():
    answer = tiny_served.signature("race")
    with pytest.raises(tf.errors.InvalidArgumentError, match="equal batch"):
        answer(
            text=tf.constant(["a"]),
            text_pair=tf.constant(["a", "b"]),
            choices=tf.constant([["a", "b"]]),
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="not be empty"):
        answer(
            text=tf.constant(["a"]),
            text_pair=tf.constant(["a"]),
            choices=tf.zeros([1, 0], tf.string),
        )


def test_another_number_of_choices_is_answered():
    rows = tiny_served.rows("story_cloze")
    found = ask("race", rows)
    logits = tiny_fine_tuned.logits_one_by_one(tiny_served.model("race"), rows)
    np.testing.assert_allclose(
        found["probabilities"], special.softmax(logits, axis=-1), atol=1e-5
    )
