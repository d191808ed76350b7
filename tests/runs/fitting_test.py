import json
import logging
import math
import os
import signal

import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras import errors
from gpt1_keras.training import callbacks
from gpt1_keras.training import checkpoints
from gpt1_keras.training import fit as fit_lib
from tests.reference import kill_run
from tests.reference import tiny_learner

NUM_STEPS = 8


def test_dtype():
    before = keras.config.dtype_policy()
    try:
        fit_lib.set_dtype("mixed_bfloat16")
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
        with pytest.raises(errors.InputError, match="DTYPE is 'float23'"):
            fit_lib.set_dtype("float23")
    finally:
        keras.config.set_dtype_policy(before)


class Crash(Exception):
    """In place of a kill."""


def crash_at(step):
    def function(now, history):
        if now == step:
            raise Crash

    return 1, function


def build():
    return tiny_learner.language_model(dropout=0.2, micro_batch_size=2)


def fit(
    workdir,
    *,
    learner=None,
    periodic=(),
    num_steps=NUM_STEPS,
    advice=None,
    **intervals,
):
    """Train a small network with dropout; return it and the history."""
    learner = learner or build()
    history = fit_lib.fit(
        learner,
        tiny_learner.Batches(),
        workdir=workdir,
        num_steps=num_steps,
        tokens_per_step=24,
        intervals=fit_lib.Intervals(
            **{
                "log_steps": 1,
                "evaluation_steps": 0,
                "sample_steps": 0,
                "checkpoint_steps": 3,
                "num_checkpoints": 2,
            }
            | intervals
        ),
        periodic=periodic,
        advice=advice,
    )
    history.close()
    return learner, history


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The workdir of a run from beginning to end."""
    workdir = tmp_path_factory.mktemp("undisturbed")
    fit(workdir)
    return workdir


def assert_same_run(workdir, undisturbed):
    step, arrays = kill_run.last_checkpoint(workdir)
    expected_step, expected = kill_run.last_checkpoint(undisturbed)
    assert step == expected_step and list(arrays) == list(expected)
    for key, array in arrays.items():
        assert array.tobytes() == expected[key].tobytes(), key
    assert kill_run.lines(workdir) == kill_run.lines(undisturbed)


def test_checkpoints_and_lines(undisturbed):
    found = checkpoints.Checkpoints(undisturbed / "checkpoints", keep=2)
    assert found.steps() == [6, NUM_STEPS]
    lines = kill_run.lines(undisturbed)
    assert [line["step"] for line in lines] == [*range(1, NUM_STEPS + 1)]
    assert set(lines[0]) == {
        *("step", "loss", "perplexity", "gradient_norm", "learning_rate"),
    }
    assert lines[-1]["loss"] < lines[0]["loss"]


@pytest.mark.parametrize("step", [2, 3, 7])
def test_crashed_run_ends_with_the_same_weights(tmp_path, undisturbed, step):
    with pytest.raises(Crash):
        fit(tmp_path, periodic=[crash_at(step)])
    fit(tmp_path)
    assert_same_run(tmp_path, undisturbed)


def test_looking_at_the_model_changes_nothing(tmp_path, undisturbed):
    learner, scores = build(), []

    def look(step, history):
        batch = tiny_learner.Batches()(99)
        found = learner.predict(batch, batch_size=4, verbose=0)
        scores.append(found["log_probability"].sum())

    fit(tmp_path, learner=learner, periodic=[(2, look)])
    # It saw the weights of the moment.
    assert len(set(scores)) == NUM_STEPS // 2
    assert_same_run(tmp_path, undisturbed)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_saves_and_the_same_command_continues(
    tmp_path, undisturbed, name
):
    def ask(step, history):
        if step == 4:
            os.kill(os.getpid(), signal.Signals[name])

    with pytest.raises(
        errors.Stopped, match=f"{name} after 4 of 8 updates.*continues"
    ):
        fit(tmp_path, periodic=[(1, ask)])
    assert kill_run.last_checkpoint(tmp_path)[0] == 4
    fit(tmp_path)
    assert_same_run(tmp_path, undisturbed)


def test_signal_at_the_last_update_stops_what_comes_after(
    tmp_path, undisturbed
):
    def ask(step, history):
        if step == NUM_STEPS:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(errors.Stopped, match="8 of 8 updates"):
        fit(tmp_path, periodic=[(1, ask)])
    fit(tmp_path)
    assert_same_run(tmp_path, undisturbed)


def test_finished_run_makes_no_update(tmp_path):
    fit(tmp_path, num_steps=2)
    before = kill_run.last_checkpoint(tmp_path)[1]
    lines = kill_run.lines(tmp_path)
    learner, _ = fit(tmp_path, num_steps=2, periodic=[crash_at(3)])
    assert int(ops.convert_to_numpy(learner.optimizer.iterations)) == 2
    after = kill_run.last_checkpoint(tmp_path)[1]
    assert all((before[key] == after[key]).all() for key in before)
    assert kill_run.lines(tmp_path) == lines


def test_continued_run_is_not_finished_any_more(tmp_path):
    fit(tmp_path, num_steps=2)
    (tmp_path / "result.json").write_text("{}")
    fit(tmp_path, num_steps=2)
    assert (tmp_path / "result.json").exists()
    fit(tmp_path, num_steps=3)
    assert not (tmp_path / "result.json").exists()


class SpoiltBatches(tiny_learner.Batches):
    """Weights that give no finite loss from one step on."""

    def __call__(self, step):
        batch = super().__call__(step)
        if step >= 4:
            batch["token_weights"][:] = np.nan
        return batch


@pytest.mark.parametrize("checkpoint_steps, kept", [(2, 2), (3, 3)])
def test_non_finite_loss_keeps_the_last_good_checkpoint(
    tmp_path, monkeypatch, checkpoint_steps, kept
):
    """A checkpoint whose next update has no finite loss is not good."""
    monkeypatch.setattr(tiny_learner, "Batches", SpoiltBatches)
    with pytest.raises(callbacks.NonFiniteLoss, match="step 5"):
        fit(tmp_path, checkpoint_steps=checkpoint_steps)
    assert kill_run.last_checkpoint(tmp_path)[0] == kept
    assert all(math.isfinite(x["loss"]) for x in kill_run.lines(tmp_path))


def test_first_update_tells_how_long_it_will_take(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(fit_lib, "_LONG_SECONDS", 0.0)
    with caplog.at_level(logging.INFO, logger="absl"):
        fit(tmp_path, num_steps=2, advice="a smaller model")
    (message,) = [
        record.getMessage()
        for record in caplog.records
        if "first update" in record.getMessage()
    ]
    assert "the other 1 would take 0:" in message
    assert message.endswith("; shorter: a smaller model")


def test_lines_are_json(undisturbed):
    text = (undisturbed / "metrics.jsonl").read_text()
    assert len([json.loads(x) for x in text.splitlines()]) == NUM_STEPS


def test_advance_moves_a_bar_and_stops_on_request():
    learner = tiny_learner.language_model()
    batch = tiny_learner.Batches()(0)
    moved = []

    class Stop:
        signal_name = "SIGTERM"

    def predict(stop):
        learner.predict(
            batch,
            batch_size=1,
            verbose=0,
            callbacks=[callbacks.PredictionProgress(moved.append, stop)],
        )

    predict(None)
    assert moved == [1] * 4
    with pytest.raises(errors.Stopped, match="SIGTERM during the evaluation"):
        predict(Stop())
    assert len(moved) == 5
