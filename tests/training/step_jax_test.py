"""What JAX alone needs; the rest stands in `step_test`."""

import keras
import numpy as np
import pytest

from tests.reference import tiny_learner

if keras.config.backend() != "jax":
    pytest.skip("for the JAX backend", allow_module_level=True)

import jax


def state_of(learner):
    return (
        [v.value for v in learner.trainable_variables],
        [v.value for v in learner.non_trainable_variables],
        [v.value for v in learner.optimizer.variables],
        [],
    )


def test_state_goes_in_and_out_and_no_variable_is_touched():
    learner = tiny_learner.language_model(dropout=0.1, micro_batch_size=2)
    before = tiny_learner.weights_of(learner)
    batch = tiny_learner.Batches()(0)
    logs, state = jax.jit(learner.train_step)(state_of(learner), batch)
    assert set(logs) == {"loss", "gradient_norm"}
    for old, new in zip(state_of(learner), state):
        assert [x.shape for x in old] == [x.shape for x in new]
        assert [x.dtype for x in old] == [x.dtype for x in new]
    after = tiny_learner.weights_of(learner)
    assert all((after[path] == before[path]).all() for path in before)
    moved = [
        (np.asarray(new) != before[path]).any()
        for path, new in zip(before, state[0])
    ]
    assert all(moved)


def test_seed_states_of_all_micro_batches_are_returned():
    learner = tiny_learner.language_model(dropout=0.1, micro_batch_size=1)
    state = state_of(learner)
    batch = tiny_learner.Batches()(0)
    _, (_, non_trainable, _, _) = learner.train_step(state, batch)
    draws = [
        int(new[1]) - int(old[1])
        for variable, old, new in zip(
            learner.non_trainable_variables, state[1], non_trainable
        )
        if "seed_generator" in variable.path
    ]
    assert draws and set(draws) == {4}
