from unittest import mock

import numpy as np
import pytest
from keras import ops
from scipy import special

from gpt1_keras.training import losses
from tests.reference.tiny_learner import tensors

HIDDEN = np.arange(18, dtype="float32").reshape(2, 3, 3) % 5 / 2
# Two sequences of three tokens; the table is the identity.
LOG_P = special.log_softmax(HIDDEN, axis=-1)


def example(weights=((0, 1, 1), (0, 1, 0))):
    outputs = {"hidden": HIDDEN, "table": np.eye(3, dtype="float32")}
    batch = {
        "token_ids": np.array([[[0, 1, 2]], [[2, 2, 0]]], "int32"),
        "token_weights": np.array(weights, "float32")[:, None],
    }
    return tensors(outputs), tensors(batch)


# Position t predicts token t + 1: negative log-likelihoods of the tokens with
# weight. A mean over all three would be another number.
A, B, OTHER = -LOG_P[0, 0, 1], -LOG_P[0, 1, 2], -LOG_P[1, 0, 2]


def test_mean_over_the_tokens_of_a_sequence_then_over_sequences():
    for weights, expected in (
        (((0, 1, 1), (0, 1, 0)), ((A + B) / 2 + OTHER) / 2),
        # Relative to each other within a sequence.
        (((0, 3, 1), (0, 2, 0)), ((3 * A + B) / 4 + OTHER) / 2),
        # A sequence without weight, such as padding rows, counts as zero.
        (((0, 1, 1), (0, 0, 0)), (A + B) / 4),
        # The first token is never predicted.
        (((9, 1, 0), (9, 1, 0)), (A + OTHER) / 2),
    ):
        found = losses.LanguageModelLoss(chunk_size=2)(*example(weights))
        assert float(found["loss"]) == pytest.approx(expected, abs=1e-6)


def test_softmax_over_something_else_is_refused():
    with pytest.raises(ValueError, match="'positions'"):
        losses.LanguageModelLoss(chunk_size=2, softmax_over="positions")


@pytest.mark.parametrize("lm_weight", [0.25, 0.0])
def test_task_loss_adds_lambda_times_the_language_model(lm_weight):
    outputs, batch = example()
    outputs["logits"] = ops.convert_to_tensor([[1.0, 3.0]])
    # The two sequences are the candidates of one example.
    batch = {key: ops.reshape(x, (1, 2, 3)) for key, x in batch.items()}
    batch["labels"] = ops.convert_to_tensor([0], "int32")
    language_model_loss = mock.Mock(
        wraps=losses.LanguageModelLoss(chunk_size=2)
    )
    loss = losses.TaskLoss(
        task_loss=losses.cross_entropy,
        language_model_loss=language_model_loss,
        lm_weight=lm_weight,
    )
    found = {key: float(x) for key, x in loss(outputs, batch).items()}
    task, lm = np.log1p(np.exp(2)), ((A + B) / 2 + OTHER) / 2
    expected = {"loss": task + lm_weight * lm, "task_loss": task}
    # With lambda 0, no softmax over the vocabulary is computed.
    assert language_model_loss.call_count == bool(lm_weight)
    if lm_weight:
        expected["lm_loss"] = lm
    assert found == pytest.approx(expected, abs=1e-6)
    assert loss.names == tuple(found)


def test_weights_of_classes():
    """The losses without weights: tasks/task_test.py."""
    logits = np.array([[1.0, 3.0, 0.0], [0.5, -1.0, 2.0]], "float32")
    losses_of_rows = -special.log_softmax(logits, axis=-1)[[0, 1], [2, 0]]
    given = map(ops.convert_to_tensor, ([2, 0], logits))
    found = losses.cross_entropy(*given, class_weights=[0.5, 1.0, 3.0])
    expected = losses_of_rows * [3.0, 0.5]
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=1e-5)
