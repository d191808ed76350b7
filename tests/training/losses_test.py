import numpy as np
import pytest
from keras import ops

from gpt1_keras.training import losses


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def example():
    """Two sequences of three tokens; the table is the identity."""
    hidden = np.arange(18, dtype="float32").reshape(2, 3, 3) % 5 / 2
    outputs = {
        "hidden": hidden,
        "table": np.eye(3, dtype="float32"),
        "positions": np.full((2, 3), 0.5, "float32"),
    }
    batch = {
        "token_ids": np.array([[[0, 1, 2]], [[2, 2, 0]]], "int32"),
        "token_weights": np.array([[[0, 1, 1]], [[0, 1, 0]]], "float32"),
    }
    return outputs, batch


def tensors(values):
    return {key: ops.convert_to_tensor(value) for key, value in values.items()}


def test_mean_over_the_tokens_of_a_sequence_then_over_sequences():
    outputs, batch = example()
    log_p = log_softmax(outputs["hidden"])
    # Position t predicts token t + 1; the last token of sequence 1 has
    # weight 0. A mean over all three tokens would be another number.
    first = -(log_p[0, 0, 1] + log_p[0, 1, 2]) / 2
    second = -log_p[1, 0, 2]
    loss = losses.LanguageModelLoss(chunk_size=2)
    found = loss(tensors(outputs), tensors(batch))
    assert set(found) == {"loss"}
    assert float(found["loss"]) == pytest.approx((first + second) / 2, abs=1e-6)
    all_tokens = -(log_p[0, 0, 1] + log_p[0, 1, 2] + log_p[1, 0, 2]) / 3
    assert abs(all_tokens - (first + second) / 2) > 0.01


def test_weights_of_a_sequence_count_relative_to_each_other():
    outputs, batch = example()
    batch["token_weights"][0] = [[0, 3, 1]]
    log_p = log_softmax(outputs["hidden"])
    first = -(3 * log_p[0, 0, 1] + log_p[0, 1, 2]) / 4
    expected = (first - log_p[1, 0, 2]) / 2
    loss = losses.LanguageModelLoss(chunk_size=2)
    found = float(loss(tensors(outputs), tensors(batch))["loss"])
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_sequence_without_weight_counts_as_zero():
    """Such as the padding rows of a last batch."""
    outputs, batch = example()
    batch["token_weights"][1] = 0.0
    log_p = log_softmax(outputs["hidden"])
    first = -(log_p[0, 0, 1] + log_p[0, 1, 2]) / 2
    loss = losses.LanguageModelLoss(chunk_size=2)
    found = float(loss(tensors(outputs), tensors(batch))["loss"])
    assert found == pytest.approx(first / 2, abs=1e-6)


def test_released_softmax_runs_over_the_position_rows_too():
    outputs, batch = example()
    rows = np.concatenate([outputs["table"], outputs["positions"]])
    log_p = log_softmax(outputs["hidden"] @ rows.T)
    first = -(log_p[0, 0, 1] + log_p[0, 1, 2]) / 2
    expected = (first - log_p[1, 0, 2]) / 2
    loss = losses.LanguageModelLoss(chunk_size=2, softmax_over="released")
    found = float(loss(tensors(outputs), tensors(batch))["loss"])
    assert found == pytest.approx(expected, abs=1e-6)


def test_softmax_over_something_else():
    with pytest.raises(ValueError, match="'positions'"):
        losses.LanguageModelLoss(chunk_size=2, softmax_over="positions")


def test_scores_are_sums_for_each_candidate():
    outputs, batch = example()
    log_p = log_softmax(outputs["hidden"])
    loss = losses.LanguageModelLoss(chunk_size=2)
    found = loss.score(tensors(outputs), tensors(batch))
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["log_probability"]),
        [log_p[0, 0, 1] + log_p[0, 1, 2], log_p[1, 0, 2]],
        atol=1e-5,
    )
    assert ops.convert_to_numpy(found["weight"]).tolist() == [2.0, 1.0]


def task_example():
    outputs, batch = example()
    outputs["logits"] = np.array([[1.0, 3.0]], "float32")
    batch["labels"] = np.array([0], "int32")
    # The two sequences are the candidates of one example.
    batch = {
        key: value.reshape(1, 2, 3) if value.ndim == 3 else value
        for key, value in batch.items()
    }
    return tensors(outputs), tensors(batch)


def test_task_loss_adds_lambda_times_the_language_model():
    outputs, batch = task_example()
    language_model = losses.LanguageModelLoss(chunk_size=2)
    loss = losses.TaskLoss(
        task_loss=losses.cross_entropy,
        language_model_loss=language_model,
        lm_weight=0.25,
    )
    found = {key: float(x) for key, x in loss(outputs, batch).items()}
    assert found["task_loss"] == pytest.approx(np.log1p(np.exp(2)), abs=1e-6)
    lm_loss = float(language_model(outputs, batch)["loss"])
    assert found["lm_loss"] == pytest.approx(lm_loss, abs=1e-6)
    assert found["loss"] == pytest.approx(
        found["task_loss"] + 0.25 * lm_loss, abs=1e-6
    )


def test_lambda_zero_computes_no_softmax_over_the_vocabulary():
    outputs, batch = task_example()

    def refuse(outputs, batch):
        raise AssertionError("the language-model loss was called")

    loss = losses.TaskLoss(
        task_loss=losses.cross_entropy,
        language_model_loss=refuse,
        lm_weight=0.0,
    )
    found = loss(outputs, batch)
    assert float(found["loss"]) == pytest.approx(np.log1p(np.exp(2)), abs=1e-6)
    assert set(found) == {"loss", "task_loss"}
