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
        words = benchmarks.benchmark(name).label_space.class_names
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


def test_hostile_input(capfd):
    texts = tiny_served.HOSTILE
    found = tiny_served.signature("rte")(
        text=tf.constant(texts), text_pair=tf.constant(texts[::-1])
    )
    probabilities = found["probabilities"].numpy()
    np.testing.assert_allclose(probabilities.sum(-1), 1.0, rtol=1e-5)
    assert found["is_cut"].numpy()[texts.index(b"a" * 1_000_000)]
    printed = "".join(capfd.readouterr())
    assert "aaaaaaaa" not in printed and "\u202e" not in printed
    assert "\x00" not in printed


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"token_ids": [[[0, 1, 999]]]}, "token_ids must be 0 to"),
        ({"token_ids": [[[0, -1, 2]]]}, "token_ids must be 0 to"),
        ({"token_ids": [[[2**31 - 1, 0, 0]]]}, "token_ids must be 0 to"),
        ({"token_ids": [[[1] * 33]]}, "at most 32 positions"),
        ({"extract_position": [[3]]}, "extract_position must be less than T"),
        ({"extract_position": [[-1]]}, "extract_position must not be negative"),
        ({"extract_position": [[0, 1]]}, "extract_position must be \\[B, C\\]"),
    ],
)
def test_ids_that_are_none(changes, message):
    inputs = {"token_ids": [[[0, 1, 2]]], "extract_position": [[2]]}
    answer = tiny_served.signature("sst2", "tokens")

    def ask(inputs):
        return answer(
            **{name: tf.constant(v, tf.int32) for name, v in inputs.items()}
        )

    assert ask(inputs)["logits"].shape == (1, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ask(inputs | changes)


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
