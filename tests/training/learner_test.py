import runpy

import keras
import numpy as np
import pytest
from keras import ops
from scipy import special

from gpt1_keras import errors
from gpt1_keras.training import learner
from tests.reference import tiny_learner


def test_other_backends_of_keras_are_refused(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "numpy")
    with pytest.raises(errors.InputError, match="is numpy: set KERAS_BACKEND"):
        runpy.run_path(learner.__file__)


@pytest.mark.parametrize(
    "build, batch",
    [
        # Dropout does not touch scores.
        (
            lambda: tiny_learner.language_model(dropout=0.5),
            tiny_learner.Batches(batch_size=3)(0),
        ),
        (tiny_learner.chooser, tiny_learner.LabelledBatches(batch_size=3)(0)),
    ],
)
def test_predict_scores_each_candidate_and_returns_logits(build, batch):
    learner = build()
    batch = batch | {"token_weights": 2 * batch["token_weights"]}
    scores = learner.predict(batch, batch_size=3, verbose=0)
    outputs = learner.network(learner.network_inputs(batch), training=False)
    if "logits" in outputs:
        logits = ops.convert_to_numpy(outputs["logits"])
        np.testing.assert_allclose(scores.pop("logits"), logits, atol=1e-5)
    assert set(scores) == {"log_probability", "weight", "num_likeliest"}
    ids = batch["token_ids"].reshape(-1, tiny_learner.LENGTH)
    weights = batch["token_weights"].reshape(ids.shape)[:, 1:]
    hidden = ops.convert_to_numpy(outputs["hidden"]).astype("float64")
    table = ops.convert_to_numpy(outputs["table"])
    log_p = special.log_softmax(hidden @ table.T, axis=-1)[:, :-1]
    chosen = np.take_along_axis(log_p, ids[:, 1:, None], -1)[..., 0]
    expected = (chosen * weights).sum(1)
    np.testing.assert_allclose(scores["log_probability"], expected, rtol=1e-5)
    np.testing.assert_allclose(scores["weight"], weights.sum(1))
    best = (log_p.argmax(-1) == ids[:, 1:]) * weights
    np.testing.assert_allclose(scores["num_likeliest"], best.sum(1))


def test_keras_may_not_leave_steps_out():
    keras.config.set_max_steps_per_epoch(2)
    try:
        with pytest.raises(errors.InputError, match="after 2 steps: unset"):
            learner.Learner(tiny_learner.backbone_of())
    finally:
        keras.config.set_max_steps_per_epoch(None)
