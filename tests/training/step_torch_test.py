"""What torch alone needs; the rest stands in `step_test`."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.reference import tiny_learner

if keras.config.backend() != "torch":
    pytest.skip("for the torch backend", allow_module_level=True)


def tensors(batch):
    return {key: ops.convert_to_tensor(value) for key, value in batch.items()}


def test_gradients_of_the_update_before_are_forgotten():
    batch = tensors(tiny_learner.Batches()(0))
    # With a rate of 0 both updates have the same gradient.
    learner = tiny_learner.language_model(learning_rate=0.0)
    first, second = (learner.train_step(batch) for _ in range(2))
    assert float(first["gradient_norm"]) == float(second["gradient_norm"]) > 0


def test_micro_batches_add_up_in_the_gradient():
    batch = tensors(tiny_learner.Batches()(0))
    norms = [
        float(
            tiny_learner.language_model(micro_batch_size=size).train_step(
                batch
            )["gradient_norm"]
        )
        for size in (4, 1)
    ]
    np.testing.assert_allclose(norms[0], norms[1], rtol=1e-5)


def test_logs_hold_no_graph():
    learner = tiny_learner.language_model()
    logs = learner.train_step(tensors(tiny_learner.Batches()(0)))
    assert not any(value.requires_grad for value in logs.values())
