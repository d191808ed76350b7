"""What TensorFlow alone needs; the rest stands in `step_test`."""

import keras
import numpy as np
import pytest

from tests.reference import tiny_learner

if keras.config.backend() != "tensorflow":
    pytest.skip("for the TensorFlow backend", allow_module_level=True)

import tensorflow as tf


def test_gradient_of_a_look_up_is_dense_and_adds_up_repeated_tokens():
    """Clipping a sparse gradient would count a repeated row twice."""
    learner = tiny_learner.language_model()
    batch = tiny_learner.Batches()(0)
    batch["token_ids"][:] = 3
    tensors = {key: tf.constant(value) for key, value in batch.items()}
    losses, gradients = learner._gradients(tensors)
    assert losses["loss"].shape == ()
    for gradient, variable in zip(gradients, learner.trainable_variables):
        assert isinstance(gradient, tf.Tensor)
        assert gradient.shape == variable.shape


def test_accumulated_gradients_are_the_sum():
    learner = tiny_learner.language_model()
    parts = [tiny_learner.Batches(batch_size=2)(step) for step in range(3)]
    stacked = {
        key: tf.constant(np.stack([part[key] for part in parts]))
        for key in parts[0]
    }
    sums, totals = tf.function(lambda x: learner._accumulate(x, 3))(stacked)
    single = [
        learner._gradients({k: tf.constant(v) for k, v in part.items()})
        for part in parts
    ]
    expected = sum(float(losses["loss"]) for losses, _ in single)
    assert float(sums["loss"]) == pytest.approx(expected, rel=1e-5)
    for i, total in enumerate(totals):
        added = sum(gradients[i].numpy() for _, gradients in single)
        np.testing.assert_allclose(total.numpy(), added, atol=1e-6)
