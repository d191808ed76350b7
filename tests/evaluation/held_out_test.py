import math

import numpy as np
import pytest

from gpt1_keras import results
from gpt1_keras.evaluation import held_out
from gpt1_keras.models import task_model
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import losses
from tests.reference import numpy_gpt1
from tests.reference import small_models

T = 7


def test_of_a_network_equals_numpy():
    backbone = small_models.network()
    language_model = losses.LanguageModelLoss(chunk_size=16)
    scored = learner_lib.Learner(
        task_model.GPT1TaskModel(backbone),
        loss=language_model,
        scorer=language_model,
        clip_norm=1.0,
    )
    scored.compile("sgd", jit_compile=False)
    ids = small_models.token_ids(6, T)
    weights = np.ones((6, T), "float32")
    weights[:, 0] = 0
    # Sequences of unequal length; the last is a filled-up row of a batch.
    weights[1, 4:] = weights[3, 2:] = weights[5] = 0
    batch = {"token_ids": ids[:, None], "token_weights": weights[:, None]}
    predict = scored.predict
    scored.predict = lambda x, **kwargs: predict(x, batch_size=6, **kwargs)
    found = held_out.perplexity(scored, batch, num_words=9)

    arrays = small_models.released_arrays(backbone)
    hidden = numpy_gpt1.hidden_states(
        arrays, ids, num_positions=12, num_layers=2, num_heads=2
    )
    log_p = numpy_gpt1.log_softmax(hidden[:, :-1] @ arrays["we"][:26].T)
    log_p = np.take_along_axis(log_p, ids[:, 1:, None], axis=2)[..., 0]
    total, tokens = np.sum(log_p * weights[:, 1:]), 6 + 3 + 6 + 1 + 6
    assert found == {
        "loss": pytest.approx(-total / tokens, abs=1e-5),
        "perplexity": pytest.approx(math.exp(-total / tokens), rel=1e-5),
        "word_perplexity": pytest.approx(math.exp(-total / 9), rel=1e-5),
        "tokens": tokens,
        "words": 9,
    }


class Recorded:
    """A learner whose scores are given."""

    def __init__(self, log_probability, weight):
        self.scores = {
            "log_probability": np.array(log_probability, "float32"),
            "weight": np.array(weight, "float32"),
        }

    def predict(self, batches, *, verbose, callbacks):
        self.asked = (batches, verbose, callbacks)
        return self.scores


def test_mean_is_over_tokens_not_over_sequences():
    scored = Recorded([-2.0, -30.0], [2, 10])
    found = held_out.perplexity(
        scored, "batches", num_words=8, callbacks=("c",)
    )
    assert found["loss"] == pytest.approx(32 / 12)
    assert found["perplexity"] == pytest.approx(math.exp(32 / 12))
    assert found["word_perplexity"] == pytest.approx(math.exp(4.0))
    assert found["tokens"] == 12
    assert scored.asked == ("batches", 0, ["c"])


def test_sums_are_in_float64_and_hopeless_scores_infinite():
    # In float32 a sum of 2**25 and small numbers loses the small ones.
    many = [2.0**25] + [1.0] * 1000
    scored = Recorded(np.negative(many), many)
    found = held_out.perplexity(scored, None, num_words=1)
    assert (found["tokens"], found["loss"]) == (2**25 + 1000, 1.0)
    found = held_out.perplexity(Recorded([-1600.0], [2]), None, num_words=1)
    assert found["loss"] == 800
    assert found["perplexity"] == found["word_perplexity"] == math.inf


class Split:
    """Two books of 40 and 25 tokens, ten words each."""

    lengths = np.array([40, 25])
    words = np.array([10, 10])

    def read(self, book, start, end):
        return np.arange(start, end) + 100 * book


class Shards:
    def split(self, name):
        assert name == "held_out"
        return Split()


class Uniform:
    """Gives every token the probability 1 / 8, and counts its work."""

    calls = 0

    def predict(self, batches, verbose, callbacks):
        self.calls += 1
        weights = [np.asarray(batch["token_weights"]) for batch in batches]
        weight = np.concatenate([each[:, 0].sum(-1) for each in weights])
        return {"log_probability": -np.log(8.0) * weight, "weight": weight}


def make(*, final_tokens=None):
    evaluation = held_out.Evaluation(
        stride=4, batch_size=3, tokens=10, final_tokens=final_tokens
    )
    learner = Uniform()
    return held_out.HeldOut(evaluation, Shards(), learner, 8), learner


def test_every_token_but_the_first_of_a_book_is_scored():
    found = make()[0].measure(None)
    assert found["tokens"] == 40 - 1 + 25 - 1
    assert found["perplexity"] == pytest.approx(8.0)
    # 20 words in 65 tokens, taken in proportion for the 63 scored.
    words = 20 / 65 * 63
    assert found["word_perplexity"] == pytest.approx(8.0 ** (63 / words))


def test_last_step_is_left_to_the_final_measurement_made_once(tmp_path):
    subject, learner = make(final_tokens=20)
    history = results.History(tmp_path, step=0)
    record = subject.record_until(6)
    for step in (3, 6):
        record(step, history)
    assert learner.calls == 1
    metrics = subject.final(history, 6)
    lines = results.read_metrics(tmp_path / "metrics.jsonl")
    assert [line["step"] for line in lines] == [3, 6]
    assert lines[0]["tokens"] < lines[1]["tokens"] == metrics["tokens"]
    assert set(metrics) == set(held_out.METRICS)
    again = subject.final(results.History(tmp_path, step=6), 6)
    assert again == metrics and learner.calls == 2
