import numpy as np
import pytest

from gpt1_keras import results
from gpt1_keras.evaluation import held_out


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


class Learner:
    """Gives every token the probability 1 / 8, and counts its work."""

    calls = 0

    def predict(self, batches, verbose, callbacks):
        self.calls += 1
        weights = [
            np.asarray(batch["token_weights"])[:, 0].sum(-1)
            for batch in batches
        ]
        weight = np.concatenate(weights)
        return {"log_probability": -np.log(8.0) * weight, "weight": weight}


def make(*, final_tokens=None):
    evaluation = held_out.Evaluation(
        stride=4, batch_size=3, tokens=10, final_tokens=final_tokens
    )
    learner = Learner()
    return held_out.HeldOut(evaluation, Shards(), learner, 8), learner


def test_every_token_but_the_first_of_a_book_is_scored():
    found = make()[0].measure(None)
    assert found["tokens"] == 40 - 1 + 25 - 1
    assert found["perplexity"] == pytest.approx(8.0)
    # 20 words in 65 tokens, taken in proportion for the 63 scored.
    words = 20 / 65 * 63
    assert found["word_perplexity"] == pytest.approx(8.0 ** (63 / words))


def test_the_last_update_is_left_to_the_final_measurement(tmp_path):
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


def test_a_final_measurement_is_not_made_twice(tmp_path):
    subject, learner = make()
    first = subject.final(results.History(tmp_path, step=0), 6)
    again = subject.final(results.History(tmp_path, step=6), 6)
    assert again == first and learner.calls == 1
