import keras
import numpy as np
import pytest
from keras import ops
from scipy import special

from gpt1_keras.training import losses
from tests.reference import tiny_learner
from tests.reference.tiny_learner import tensors


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
    scores = learner.predict(batch, batch_size=3, verbose=0)
    outputs = learner.network(learner.network_inputs(batch), training=False)
    if "logits" in outputs:
        logits = ops.convert_to_numpy(outputs["logits"])
        np.testing.assert_allclose(scores.pop("logits"), logits, atol=1e-5)
    assert set(scores) == {"log_probability", "weight"}
    ids = batch["token_ids"].reshape(-1, tiny_learner.LENGTH)
    weights = batch["token_weights"].reshape(ids.shape)[:, 1:]
    hidden = ops.convert_to_numpy(outputs["hidden"]).astype("float64")
    table = ops.convert_to_numpy(outputs["table"])
    log_p = special.log_softmax(hidden @ table.T, axis=-1)[:, :-1]
    chosen = np.take_along_axis(log_p, ids[:, 1:, None], -1)[..., 0]
    expected = (chosen * weights).sum(1)
    np.testing.assert_allclose(scores["log_probability"], expected, rtol=1e-5)
    np.testing.assert_allclose(scores["weight"], weights.sum(1))


def test_logs_are_those_of_one_step_and_not_a_running_mean():
    batches = [tiny_learner.Batches()(step) for step in range(3)]
    joined = {
        key: np.concatenate([batch[key] for batch in batches])
        for key in batches[0]
    }
    loss, found = losses.LanguageModelLoss(chunk_size=4), []
    keep = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda _, logs: found.append(float(logs["loss"]))
    )
    learner = tiny_learner.language_model()
    tiny_learner.update_many(learner, joined, batch_size=4, callbacks=[keep])
    learner, expected = tiny_learner.language_model(), []
    for batch in batches:
        outputs = learner.network(learner.network_inputs(tensors(batch)))
        losses_of_batch = loss(outputs, tensors(batch))
        expected.append(float(ops.convert_to_numpy(losses_of_batch["loss"])))
        tiny_learner.update(learner, batch)
    assert found == pytest.approx(expected, abs=1e-5)


def test_padding_changes_neither_losses_nor_gradients():
    """What makes batches of few lengths the same as those of the longest."""
    longest = tiny_learner.LabelledBatches()(0)
    for name in ("token_ids", "token_weights"):
        longest[name][..., 4:] = 0
    longest["extract_position"][:] = 3
    bucketed = longest | {
        name: longest[name][..., :4] for name in ("token_ids", "token_weights")
    }
    found = []
    for batch in (bucketed, longest):
        learner = tiny_learner.chooser(clip_norm=1e9)
        logs = tiny_learner.update(learner, batch)
        found.append((logs, tiny_learner.gradients_of(learner)))
    (logs, ours), (expected, theirs) = found
    assert logs == pytest.approx(expected, abs=1e-5)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert np.abs(ours).max() > 0.01
