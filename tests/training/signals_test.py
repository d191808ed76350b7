import os
import signal

import pytest

from gpt1_keras.training import fit


@pytest.fixture(autouse=True)
def handlers():
    """Harmless handlers around each test, looked at afterwards."""
    received = []
    numbers = (signal.SIGTERM, signal.SIGINT)
    previous = {
        n: signal.signal(n, lambda number, frame: received.append(number))
        for n in numbers
    }
    outer = {n: signal.getsignal(n) for n in numbers}
    yield received
    assert {n: signal.getsignal(n) for n in numbers} == outer
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_becomes_a_wish(handlers, name):
    with fit.catch_signals() as stop:
        assert not stop and stop.signal_name is None
        os.kill(os.getpid(), signal.Signals[name])
        assert stop and stop.signal_name == name
    assert handlers == []


@pytest.mark.parametrize("second", ["SIGTERM", "SIGINT"])
def test_a_second_signal_acts_at_once(handlers, second):
    with fit.catch_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.Signals[second])
    assert handlers == [signal.Signals[second]]
    assert stop.signal_name == "SIGINT"


def test_handlers_come_back_after_an_error():
    # The fixture looks at them.
    with pytest.raises(ArithmeticError):
        with fit.catch_signals():
            raise ArithmeticError


def test_outside_the_block_nothing_is_caught(handlers):
    with fit.catch_signals() as stop:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    assert handlers == [signal.SIGTERM] and not stop


def test_workers_stop_together():
    asked = fit.StopRequest()
    shared = fit.SharedStopRequest(asked)
    asked.signal_name = "SIGTERM"
    # Until all have heard of it.
    assert shared.is_wished and not shared
    shared.settle(1.0)
    assert shared and shared.signal_name == "SIGTERM"


def test_the_wish_of_another_worker():
    shared = fit.SharedStopRequest(fit.StopRequest())
    shared.settle(0.0)
    assert not shared and not shared.is_wished
    shared.settle(2.0)
    assert shared and shared.signal_name == "a signal to another worker"
