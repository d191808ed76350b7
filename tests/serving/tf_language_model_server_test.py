import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from gpt1_keras.models import causal_lm
from gpt1_keras.serving import tf_signatures
from gpt1_keras.text import tf_tokenizer
from tests.reference import tiny_served
from tests.reference import tiny_task

LENGTH = 16
OPENING = 3


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("language_model")
    return causal_lm.GPT1CausalLM.from_preset(
        str(tiny_task.write_preset(folder / "preset"))
    )


@pytest.fixture(scope="module")
def server(model):
    return tf_signatures.LanguageModelServer(
        model,
        tf_tokenizer.GraphTokenizer(model.preprocessor.tokenizer.pipeline),
        opening_id=OPENING,
        max_sequence_length=LENGTH,
    )


def test_score_is_the_sum_over_tokens(model, server):
    score = server.signatures()["score"]
    found = score(text=tf.constant(tiny_served.TEXTS))
    for i, text in enumerate(tiny_served.TEXTS):
        ids = model.preprocessor.tokenizer.pipeline.encode(text)
        assert found["is_cut"][i].numpy() == (len(ids) > LENGTH)
        ids = ids[:LENGTH]
        expected = 0.0
        for j, token in enumerate(ids):  # one by one, without padding
            before = np.array([[OPENING, *ids[:j], 0]])
            logits = model(
                {"token_ids": before, "padding_mask": np.ones_like(before)}
            )
            row = np.asarray(logits[0, j], "float64")
            expected += special.log_softmax(row)[token]
        assert found["num_tokens"][i].numpy() == len(ids)
        assert found["log_probability"][i].numpy() == pytest.approx(
            expected, abs=1e-3
        )


def test_ids_in(model, server):
    ids = np.array([[1, 5, 2], [7, 7, 1]], "int32")
    found = server.signatures()["tokens"](token_ids=tf.constant(ids))
    expected = model({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    np.testing.assert_allclose(found["logits"], expected, atol=1e-5)


def test_empty_batch(server):
    found = server.signatures()["score"](text=tf.zeros([0], tf.string))
    assert found["log_probability"].shape == (0,)


def test_hostile_input(server, capfd):
    found = server.signatures()["score"](text=tf.constant(tiny_served.HOSTILE))
    assert np.isfinite(found["log_probability"]).all()
    lengths = found["num_tokens"].numpy()
    assert lengths.min() == 0 and lengths.max() == LENGTH
    empty, million = (
        tiny_served.HOSTILE.index(text) for text in (b"", b"a" * 1_000_000)
    )
    assert lengths[empty] == 0 and found["log_probability"][empty] == 0.0
    assert found["is_cut"][million] and not found["is_cut"][empty]
    printed = "".join(capfd.readouterr())
    assert "aaaaaaaa" not in printed and "\u202e" not in printed
    assert "\x00" not in printed


@pytest.mark.parametrize(
    "ids, message",
    [
        ([[0, 9999]], "token_ids must be 0 to"),
        ([[-1, 0]], "token_ids must be 0 to"),
        ([[1] * 33], "at most 32 positions"),
    ],
)
def test_ids_that_are_none(server, ids, message):
    tokens = server.signatures()["tokens"]
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tokens(token_ids=tf.constant(ids, tf.int32))
