import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.training import step
from tests.reference import tiny_learner


def batch_of(size):
    return {
        "token_ids": np.arange(size * 6).reshape(size, 1, 6),
        "labels": np.arange(size),
    }


@pytest.mark.parametrize(
    "size, micro_batch_size, expected", [(8, 2, 4), (8, 8, 1), (8, None, 1)]
)
def test_number_of_micro_batches(size, micro_batch_size, expected):
    found = step.count_micro_batches(batch_of(size), micro_batch_size)
    assert found == expected


def test_batch_that_does_not_divide():
    with pytest.raises(ValueError, match="batch of 8 .* micro-batches of 3"):
        step.count_micro_batches(batch_of(8), 3)


def test_cut_keeps_the_order():
    found = step.split(batch_of(6), 3)
    assert ops.convert_to_numpy(found["labels"]).tolist() == [
        [0, 1],
        [2, 3],
        [4, 5],
    ]
    ids = ops.convert_to_numpy(found["token_ids"])
    assert (ids == np.arange(36).reshape(3, 2, 1, 6)).all()


def clip(gradients, clip_norm):
    logs, clipped = step.finish({}, gradients, 1, clip_norm)
    return clipped, logs["gradient_norm"]


def test_clipping_is_global_and_exact():
    gradients = [
        ops.convert_to_tensor([3.0, 0.0]),
        ops.convert_to_tensor([[0.0], [-4.0]]),
    ]
    clipped, norm = clip(gradients, 1.0)
    assert float(norm) == 5.0
    first, second = map(ops.convert_to_numpy, clipped)
    np.testing.assert_allclose(first, [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(second, [[0.0], [-0.8]], rtol=1e-6)


@pytest.mark.parametrize("clip_norm", [5.0, 7.0])
def test_a_small_gradient_stays_as_it_is(clip_norm):
    gradients = [ops.convert_to_tensor([3.0, -4.0])]
    (clipped,), norm = clip(gradients, clip_norm)
    assert ops.convert_to_numpy(clipped).tolist() == [3.0, -4.0]
    assert float(norm) == 5.0


def test_non_finite_gradient_shows_in_the_norm():
    gradients = [ops.convert_to_tensor([1.0, float("nan")])]
    assert np.isnan(float(clip(gradients, 1.0)[1]))


def test_finish_means_before_it_clips():
    sums = {"loss": ops.convert_to_tensor(6.0)}
    gradients = [ops.convert_to_tensor([6.0, 8.0])]
    logs, (clipped,) = step.finish(sums, gradients, 2, 1.0)
    assert {key: float(x) for key, x in logs.items()} == {
        "loss": 3.0,
        "gradient_norm": 5.0,
    }
    np.testing.assert_allclose(ops.convert_to_numpy(clipped), [0.6, 0.8])


def differences(first, second):
    """Largest difference per weight; symmetric ones are left out.

    A constant added to all keys changes no attention, and one added to both
    choices changes no softmax: their gradients are rounding noise.
    """
    found = {}
    width = tiny_learner.HIDDEN_DIM
    for path, ours in first.items():
        theirs = second[path]
        if path.endswith("query_key_value/bias"):
            keep = np.r_[:width, 2 * width : 3 * width]
            ours, theirs = ours[keep], theirs[keep]
        if not path.endswith("/dense/bias"):
            found[path] = np.abs(ours - theirs).max()
    return found


@pytest.mark.parametrize(
    "build, batch",
    [
        (tiny_learner.language_model, tiny_learner.Batches()(1)),
        (tiny_learner.chooser, tiny_learner.labelled_batch(1)),
    ],
)
def test_micro_batches_change_nothing(build, batch):
    whole = build()
    before = tiny_learner.weights_of(whole)
    logs = [tiny_learner.update(whole, batch) for _ in range(2)]
    parts = build(micro_batch_size=2)
    parts_logs = [tiny_learner.update(parts, batch) for _ in range(2)]
    for ours, theirs in zip(logs, parts_logs):
        assert theirs == pytest.approx(ours, abs=1e-5)
        assert {"loss", "gradient_norm"} <= ours.keys()
    after = tiny_learner.weights_of(whole)
    moved = differences(after, before)
    assert len(moved) > 10 and min(moved.values()) > 1e-3
    # The same layer names, whatever numbers Keras appends.
    names = dict(zip(tiny_learner.weights_of(parts), after))
    theirs = {
        names[path]: value
        for path, value in tiny_learner.weights_of(parts).items()
    }
    found = differences(after, theirs)
    assert max(found.values()) < 1e-5, found


def test_update_is_that_of_the_clipped_gradient():
    """Twice the clip norm, twice the gradient: seen in Adam's momentum."""
    momentums = []
    for clip_norm in (1e-3, 2e-3):
        learner = tiny_learner.language_model(clip_norm=clip_norm)
        logs = tiny_learner.update(learner, tiny_learner.Batches()(0))
        assert logs["gradient_norm"] > 2e-3
        momentums.append(
            np.concatenate(
                [
                    ops.convert_to_numpy(m).ravel() / 0.1
                    for m in learner.optimizer._momentums
                ]
            )
        )
    small, large = momentums
    assert np.linalg.norm(small) == pytest.approx(1e-3, rel=1e-4)
    np.testing.assert_allclose(large, 2 * small, rtol=1e-3, atol=1e-9)


def test_learner_refuses_micro_batches_that_do_not_divide():
    learner = tiny_learner.language_model(micro_batch_size=3)
    with pytest.raises(Exception, match="micro-batches of 3"):
        tiny_learner.update(learner, tiny_learner.Batches()(0))


def test_every_micro_batch_draws_its_own_dropout():
    """The seed generators move on by one draw for each of them."""
    counts = []
    for micro_batch_size in (4, 2):
        learner = tiny_learner.language_model(
            dropout=0.1, micro_batch_size=micro_batch_size
        )
        before = seed_states(learner)
        tiny_learner.update(learner, tiny_learner.Batches()(0))
        after = seed_states(learner)
        counts.append([b[1] - a[1] for a, b in zip(before, after)])
    assert len(counts[0]) >= 4
    assert set(counts[0]) == {1} and set(counts[1]) == {2}


def seed_states(learner):
    return [
        ops.convert_to_numpy(variable).astype("int64")
        for variable in learner.non_trainable_variables
        if "seed_generator" in variable.path
    ]


def test_bfloat16_keeps_weights_and_loss_in_float32():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        learner = tiny_learner.language_model()
        exact = tiny_learner.Batches()(0)
        logs = tiny_learner.update(learner, exact)
    finally:
        keras.config.set_dtype_policy(policy)
    reference = tiny_learner.language_model()
    expected = tiny_learner.update(reference, exact)
    assert logs["loss"] == pytest.approx(expected["loss"], rel=0.02)
    assert {v.dtype for v in learner.trainable_variables} == {"float32"}
