import functools
import os
import signal
import types
from unittest import mock

import pytest
import safetensors.numpy
from keras import ops

from gpt1_keras import errors
from gpt1_keras.training import fit as fit_lib
from tests.reference import kill_run
from tests.reference import tiny_learner

SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"]


class Crash(Exception):
    """In place of a kill."""


crash = mock.Mock(side_effect=Crash)


def at(step, act):
    """Return what `fit` does after every step: act after this one."""
    return 1, lambda now, history: now == step and act()


def fit(workdir, *, seed=0, periodic=(), num_steps=8, **intervals):
    """Train a small network with dropout; return it.

    One of another seed that resumes must forget its own state.
    """
    learner = tiny_learner.language_model(
        dropout=0.2, micro_batch_size=2, seed=seed
    )
    history = fit_lib.fit(
        learner,
        tiny_learner.Batches(),
        workdir=workdir,
        num_steps=num_steps,
        tokens_per_step=24,
        intervals=fit_lib.Intervals(
            **{"log_steps": 1, "checkpoint_steps": 3, "num_checkpoints": 2}
            | intervals
        ),
        periodic=periodic,
    )
    history.close()
    return learner


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The workdir of a run from beginning to end."""
    workdir = tmp_path_factory.mktemp("undisturbed")
    fit(workdir)
    return workdir


@pytest.fixture
def save_on(monkeypatch):
    """Return a function: on a GPU, a thread writes the checkpoints."""
    return lambda kind: monkeypatch.setattr(
        fit_lib, "device", types.SimpleNamespace(kind=lambda: kind)
    )


@pytest.mark.parametrize("step, kind", [(2, "cpu"), (3, "gpu"), (7, "gpu")])
def test_crashed_run_ends_with_the_same_weights(
    tmp_path, undisturbed, save_on, step, kind
):
    save_on(kind)
    with pytest.raises(Crash):
        fit(tmp_path, periodic=[at(step, crash)])
    # Before the first checkpoint the seed still counts.
    fit(tmp_path, seed=1 if step > 3 else 0)
    assert kill_run.differences(tmp_path, undisturbed) == []


@pytest.mark.parametrize(
    "step, name, kind", [(4, "SIGTERM", "gpu"), (8, "SIGINT", "cpu")]
)
def test_signal_saves_and_the_same_command_resumes(
    tmp_path, undisturbed, save_on, step, name, kind
):
    save_on(kind)
    expected = f"{name} after step {step} of 8.*resumes"
    send = functools.partial(os.kill, os.getpid(), signal.Signals[name])
    with pytest.raises(errors.Stopped, match=expected):
        fit(tmp_path, periodic=[at(step, send)])
    assert kill_run.last_checkpoint(tmp_path)[0] == step
    fit(tmp_path, seed=1)
    assert kill_run.differences(tmp_path, undisturbed) == []


def test_finished_run_makes_no_step_and_can_be_extended(
    tmp_path, save_on, monkeypatch
):
    workdir = tmp_path / "seed_1"
    fit(workdir, num_steps=2)
    lines = kill_run.lines(workdir)
    for folder in (workdir, tmp_path):  # of the seed, of several seeds
        (folder / "result.json").write_text('{"seeds": {"1": {}}}')
    learner = fit(workdir, num_steps=2, periodic=[at(3, crash)])
    assert int(ops.convert_to_numpy(learner.optimizer.iterations)) == 2
    assert kill_run.lines(workdir) == lines
    fit(tmp_path / "no_seed", num_steps=1)
    assert len(list(tmp_path.rglob("result.json"))) == 2
    fit(workdir, num_steps=3)
    assert not list(tmp_path.rglob("result.json"))
    save_on("gpu")
    full = mock.Mock(side_effect=OSError("no space"))
    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with pytest.raises(OSError, match="no space"):
        fit(workdir, num_steps=4)
    (workdir / "metrics.jsonl").unlink()
    with pytest.raises(errors.InputError, match="metrics.jsonl is lost"):
        fit(workdir, num_steps=4)


@pytest.fixture
def handlers():
    """Harmless handlers around a test, which must be there afterwards."""
    received = []
    numbers = [signal.Signals[name] for name in SIGNALS]
    previous = {
        n: signal.signal(n, lambda number, frame: received.append(number))
        for n in numbers
    }
    outer = {n: signal.getsignal(n) for n in numbers}
    yield received
    assert signal.set_wakeup_fd(-1) == -1
    assert {n: signal.getsignal(n) for n in numbers} == outer
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_first_signal_is_a_request_and_then_ctrl_c_acts_at_once(
    handlers, caplog, first, second
):
    with fit_lib.catch_signals() as stop:
        assert not stop
        os.kill(os.getpid(), signal.Signals[first])
        assert stop and stop.signal_name == first and handlers == []
        os.kill(os.getpid(), signal.Signals[second])
        assert handlers == [signal.SIGINT] * (second == "SIGINT")
    assert stop.signal_name == first
    # By a thread, so that it does not wait for the step.
    assert f"{first}: finishing this step" in caplog.text
    # The fixture looks at the handlers, after an error too.
    with pytest.raises(ArithmeticError), fit_lib.catch_signals():
        raise ArithmeticError
    with pytest.raises(KeyboardInterrupt), fit_lib.catch_signals():
        raise ArithmeticError(os.kill(os.getpid(), signal.Signals[first]))


def test_a_signal_may_come_before_all_handlers_are_set(handlers, monkeypatch):
    set_handler = signal.signal
    waiting = [signal.SIGTERM]

    def set_and_send(number, handler):
        former = set_handler(number, handler)
        if number in waiting:
            os.kill(os.getpid(), waiting.pop())
        return former

    monkeypatch.setattr(signal, "signal", set_and_send)
    with fit_lib.catch_signals() as stop:
        assert stop.signal_name == "SIGTERM"
    assert handlers == []


def test_sighup_stays_ignored_under_nohup(handlers):
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with fit_lib.catch_signals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop
    assert signal.signal(signal.SIGHUP, former) == signal.SIG_IGN


def test_only_ctrl_c_stops_during_a_step(monkeypatch):
    """As C receives signals before Python calls their handlers."""
    exits = []
    monkeypatch.setattr(os, "_exit", exits.append)
    for names, expected in (
        (["SIGTERM", "SIGHUP"], []),
        (["SIGHUP", "SIGTERM", "SIGINT"], [3]),
    ):
        with fit_lib.catch_signals():
            signal.set_wakeup_fd(pipe := signal.set_wakeup_fd(-1))
            os.write(pipe, bytes(signal.Signals[name] for name in names))
        assert exits == expected
