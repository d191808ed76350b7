import dataclasses
import functools
import shutil
import types

import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.layers import attention
from gpt1_keras.training import learner as learner_lib
from gpt1_keras.training import step
from tests.reference import small_models
from tests.reference import tiny_learner
from tests.reference.tiny_learner import tensors

BACKEND = keras.config.backend()


def test_gradients_are_averaged_and_clipped_by_their_global_norm():
    gradients = [np.array([3, 0], "float32"), np.array([[0], [-4]], "float32")]
    for clip_norm, count, scale in (
        (1.0, 1, 0.2),
        (5.0, 1, 1.0),  # not clipped
        (7.0, 1, 1.0),
        (1.0, 2, 0.2),  # a mean before it is clipped
        (7.0, 2, 0.5),
        (0.0, 2, 0.5),  # off
    ):
        given = list(map(ops.convert_to_tensor, gradients))
        logs, clipped = step.finish({"loss": 6.0}, given, count, clip_norm)
        assert logs == {"loss": 6.0 / count, "gradient_norm": 5.0 / count}
        for found, gradient in zip(clipped, gradients):
            small_models.assert_close(found, scale * gradient, atol=1e-6)


def test_short_sequences_share_a_forward_pass():
    def count(token_ids, *sizes):
        return step.count_micro_batches(token_ids, *sizes or (4, 512))

    lengths = (16, 64, 65, 128, 129, 300, 600)
    of_lengths = [np.zeros((32, 2, length), "int32") for length in lengths]
    expected = [1, 1, 2, 2, 4, 8, 8]
    assert list(map(count, of_lengths)) == expected
    assert {count(token_ids, 4) for token_ids in of_lengths} == {8}
    assert {count(token_ids, None, 512) for token_ids in of_lengths} == {1}
    # Three micro-batches would do, but they would not be of equal size.
    assert count(np.zeros((20, 200))) == 5
    if BACKEND == "tensorflow":
        import tensorflow as tf

        spec = tf.TensorSpec((32, None, None), "int32")
        in_graph = tf.function(count, input_signature=[spec])
        assert [
            int(in_graph(token_ids)) for token_ids in of_lengths
        ] == expected


def differences(first, second):
    """Largest difference per weight; symmetric ones are left out."""
    # The same layers, whatever numbers Keras appends to their names.
    pairs = zip(first.items(), second.values(), strict=True)
    return {
        path: tiny_learner.asymmetric(path, np.abs(ours - theirs)).max()
        for (path, ours), theirs in pairs
        if not path.endswith("/dense/bias")
    }


@pytest.mark.parametrize(
    "build, batch",
    [
        (tiny_learner.language_model, tiny_learner.Batches()(1)),
        (
            functools.partial(tiny_learner.language_model, table_dropout=0.3),
            tiny_learner.Batches()(1),
        ),
        (tiny_learner.chooser, tiny_learner.LabelledBatches()(1)),
    ],
)
def test_micro_batches_change_nothing(build, batch):
    whole, parts = build(), build(micro_batch_size=2)
    before = tiny_learner.weights_of(whole)
    logs, parts_logs = (
        [tiny_learner.update(learner, batch) for _ in range(2)]
        for learner in (whole, parts)
    )
    for ours, theirs in zip(logs, parts_logs):
        assert theirs == pytest.approx(ours, abs=1e-5)
    after = tiny_learner.weights_of(whole)
    moved = differences(after, before)
    assert len(moved) > 10 and min(moved.values()) > 1e-3
    found = differences(after, tiny_learner.weights_of(parts))
    assert max(found.values()) < 1e-5, found


def test_step_is_that_of_the_clipped_gradient():
    """Twice the clip norm, twice the gradient: seen in Adam's momentum."""
    momentums = []
    for clip_norm in (1e-3, 2e-3):
        learner = tiny_learner.language_model(clip_norm=clip_norm)
        logs = tiny_learner.update(learner, tiny_learner.Batches()(0))
        assert logs["gradient_norm"] > 2e-3
        found = map(ops.convert_to_numpy, learner.optimizer._momentums)
        momentums.append(np.concatenate([m.ravel() for m in found]))
    small, large = momentums
    # The first momentum is a tenth of the gradient.
    assert np.linalg.norm(small) == pytest.approx(1e-4, rel=1e-4)
    np.testing.assert_allclose(large, 2 * small, rtol=1e-3, atol=1e-10)


@pytest.mark.parametrize("micro_batch_size, count", [(4, 1), (2, 2)])
def test_micro_batches_share_only_the_dropout_of_tables(
    micro_batch_size, count, monkeypatch
):
    learner = tiny_learner.language_model(
        dropout=0.2, micro_batch_size=micro_batch_size, seed=1
    )
    for variable in learner.non_trainable_variables:
        # Two can be equal after `keras.utils.clear_session`.
        monkeypatch.setattr(variable, "_path", "seed_generator/state")
    before = small_models.draws(learner)
    tiny_learner.update(learner, tiny_learner.Batches()(0))
    drawn = np.subtract(small_models.draws(learner), before).tolist()
    assert drawn == [count, count, count, 1, 1]


def test_bfloat16_keeps_weights_loss_and_sums_of_look_ups_in_float32(set_dtype):
    batch = tiny_learner.Batches(batch_size=512)(0)
    batch["token_ids"][:, :, :3] = 3
    losses, found = [], []
    for dtype in ("float32", "mixed_bfloat16"):
        set_dtype(dtype)
        learner = tiny_learner.language_model(clip_norm=0.0)
        losses.append(tiny_learner.update(learner, batch)["loss"])
        # The first variable is the table; its momentum, the gradient.
        found.append(ops.convert_to_numpy(learner.optimizer._momentums[0])[3])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[1] != losses[0]
    assert {v.dtype for v in learner.trainable_variables} == {"float32"}
    exact, rounded = found
    error = np.linalg.norm(rounded - exact) / np.linalg.norm(exact)
    assert error < 0.02  # 0.18 if 1,536 look-ups were summed in bfloat16


@pytest.mark.only_on("tensorflow")
def test_gradient_of_a_look_up_is_dense(monkeypatch):
    """Clipping a sparse gradient would count a repeated row twice."""
    import tensorflow as tf

    # Of the softmax over the vocabulary, it would be dense anyway.
    learner = tiny_learner.chooser()
    loss = dataclasses.replace(learner.loss_function, lm_weight=0.0)
    monkeypatch.setattr(learner, "loss_function", loss)
    batch = tiny_learner.LabelledBatches()(0)
    batch["token_ids"][:] = 3
    _, gradients = learner._gradients(tensors(batch))
    for gradient, variable in zip(gradients, learner.trainable_variables):
        assert isinstance(gradient, tf.Tensor)
        assert gradient.shape == variable.shape


@pytest.mark.only_on("tensorflow")
def test_sums_over_replicas_become_means(monkeypatch):
    """Of two that compute the same; strategy_test.py has several devices."""
    import tensorflow as tf

    def twice(operation, values):
        assert operation == tf.distribute.ReduceOp.SUM
        return tf.nest.map_structure(lambda x: 2 * x, values)

    batch = tensors(tiny_learner.Batches()(0))
    context = types.SimpleNamespace(num_replicas_in_sync=2, all_reduce=twice)
    expected = tiny_learner.language_model().train_step(batch)
    monkeypatch.setattr(tf.distribute, "get_replica_context", lambda: context)
    assert tiny_learner.language_model().train_step(batch) == expected
    # Afterwards a replica's random states are those of one device.
    context.replica_id_in_sync_group = 1
    learner = tiny_learner.language_model(dropout=0.2)
    states = learner.non_trainable_variables
    seeds = [int(state.numpy()[0]) for state in states]
    learner.replica_step(batch, None)
    assert [int(state.numpy()[0]) for state in states] == seeds != []


@pytest.mark.only_on("jax")
def test_state_goes_in_and_out_and_no_variable_is_touched(monkeypatch):
    import jax

    learner = tiny_learner.language_model(dropout=0.2, micro_batch_size=2)
    state = (
        [v.value for v in learner.trainable_variables],
        [v.value for v in learner.non_trainable_variables],
        [v.value for v in learner.optimizer.variables],
        [],
    )
    before = tiny_learner.weights_of(learner)
    batch = tiny_learner.Batches()(0)
    logs, returned = jax.jit(learner.train_step)(state, batch)
    assert set(logs) == {"loss", "gradient_norm"}
    for old, new in zip(state, returned):
        assert [x.shape for x in old] == [x.shape for x in new]
        assert [x.dtype for x in old] == [x.dtype for x in new]
    after = tiny_learner.weights_of(learner)
    for path, new in zip(before, returned[0]):
        assert (after[path] == before[path]).all()
        assert (np.asarray(new) != before[path]).any()
    # Two replicas on one device; strategy_test.py has several.
    mesh = types.SimpleNamespace(size=2)
    monkeypatch.setattr(learner, "replica_mesh", mesh)
    twice = {key: np.stack([value, value]) for key, value in batch.items()}
    replicas = jax.vmap(learner._train_step, (None, 0), axis_name="batch")
    found, (_, states, *_) = jax.jit(replicas)(state, twice)
    np.testing.assert_array_equal([v[1] for v in states], returned[1])
    # They draw other masks, so the loss is almost that of one.
    assert 1e-4 < abs(found["loss"][0] - logs["loss"]) < 0.5


@pytest.mark.only_on("torch")
def test_gradients_of_the_step_before_are_forgotten_and_logs_hold_no_graph():
    # With a rate of 0 both steps have the same gradient.
    learner = tiny_learner.language_model(learning_rate=0.0)
    batch = tensors(tiny_learner.Batches()(0))
    first, second = (learner.train_step(batch) for _ in range(2))
    assert float(first["gradient_norm"]) == float(second["gradient_norm"]) > 0
    assert not any(value.requires_grad for value in first.values())


@pytest.mark.only_on("torch")
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_compiled_network_trains_as_the_plain_one(dropout, monkeypatch):
    import torch

    # In one graph, attention in blocks included.
    monkeypatch.setattr(attention, "BLOCK", tiny_learner.LENGTH // 2)
    whole = functools.partial(torch.compile, fullgraph=True)
    monkeypatch.setattr(torch, "compile", whole)
    batches = [tensors(tiny_learner.Batches()(index)) for index in range(3)]

    def trained(jit_compile):
        shared = tiny_learner.language_model(dropout=dropout)
        learner = learner_lib.Learner(
            shared.network, loss=shared.loss_function, clip_norm=1.0
        )
        learner.compile(
            optimizer=tiny_learner.adam(0.01), jit_compile=jit_compile
        )
        losses = [float(learner.train_step(b)["loss"]) for b in batches]
        return losses, tiny_learner.weights_of(learner)

    (plain, weights), (found, compiled) = trained(False), trained(True)
    np.testing.assert_allclose(found, plain, rtol=1e-5)
    for path, value in weights.items():
        np.testing.assert_allclose(compiled[path], value, atol=1e-4)
