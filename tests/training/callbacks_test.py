import math

import pytest

from gpt1_keras.training import callbacks
from gpt1_keras.training import fit


class Optimizer:
    def __init__(self, rate):
        self._learning_rate = rate


class Model:
    """As much of a `keras.Model` as these callbacks look at."""

    stop_training = False

    def __init__(self, rate=0.5):
        self.optimizer = Optimizer(rate)


class Records:
    """Remembers calls, in place of `History` and of `Checkpoints`."""

    def __init__(self):
        self.calls = []

    def write(self, step, **values):
        self.calls.append((step, values))

    def save(self, step, model):
        self.calls.append(step)


def run(callback, logs, model=None):
    """Feed one dict of logs per update; return the model."""
    model = model or Model()
    callback.set_model(model)
    for batch, values in enumerate(logs):
        callback.on_train_batch_begin(batch)
        callback.on_train_batch_end(
            batch, {"loss": 1.0, "gradient_norm": 1.0} | values
        )
    return model


@pytest.mark.parametrize("name", ["loss", "gradient_norm"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_non_finite_loss_ends_the_run_and_names_the_step(name, value):
    callback = callbacks.StopOnNonFiniteLoss(10)
    with pytest.raises(
        callbacks.NonFiniteLoss,
        match=f"{name} is {value} at step 13.*PEAK_LEARNING_RATE",
    ):
        run(callback, [{}, {}, {name: value}])


def test_finite_losses_pass():
    callback = callbacks.StopOnNonFiniteLoss(0)
    run(callback, [{"loss": 1e30}, {"loss": -1.0}])
    assert callback.step == 2


def test_metrics_are_written_at_intervals_and_shown_at_every_update():
    history, shown = Records(), []
    callback = callbacks.LogMetrics(
        3,
        history=history,
        every=2,
        tokens_per_step=100,
        show=lambda step, values: shown.append((step, values["loss"])),
    )
    run(callback, [{"loss": loss} for loss in (1.0, 2.0, 3.0)])
    assert shown == [(4, 1.0), (5, 2.0), (6, 3.0)]
    (first, values), (second, _) = history.calls
    assert (first, second) == (4, 6)
    assert values["loss"] == 1.0
    assert values["perplexity"] == pytest.approx(math.e)
    assert values["gradient_norm"] == 1.0
    assert values["learning_rate"] == 0.5
    assert values["tokens_per_second"] > 0


def test_rate_written_is_that_of_the_update():
    """The schedule counts the updates made before."""
    history = Records()
    callback = callbacks.LogMetrics(
        0,
        history=history,
        every=1,
        tokens_per_step=1,
        show=lambda step, values: None,
    )
    run(callback, [{}, {}, {}], Model(rate=lambda step: 0.1 * step))
    rates = [values["learning_rate"] for _, values in history.calls]
    assert rates == pytest.approx([0.0, 0.1, 0.2])


def test_speed_is_measured_between_two_lines(monkeypatch):
    clock = iter([0.0, 1.0, 10.0, 13.0, 20.0, 21.0])
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: next(clock))
    history = Records()
    callback = callbacks.LogMetrics(
        0,
        history=history,
        every=2,
        tokens_per_step=100,
        show=lambda step, values: None,
    )
    run(callback, [{}, {}])
    # 200 tokens in 1 + 3 seconds; what lies between updates is not theirs.
    assert history.calls[0][1]["tokens_per_second"] == pytest.approx(50.0)


@pytest.mark.parametrize(
    "every, expected", [(3, [6, 9]), (5, [5, 10]), (0, [])]
)
def test_periodically(every, expected):
    called = []
    callback = callbacks.Periodically(4, every=every, function=called.append)
    run(callback, [{}] * 6)
    assert called == expected


def save_checkpoints(stop, checkpoints, every=4):
    return callbacks.SaveCheckpoints(
        4, checkpoints=checkpoints, every=every, last_step=11, stop=stop
    )


@pytest.mark.parametrize("every, expected", [(4, [8, 11]), (0, [11])])
def test_checkpoints_at_intervals_and_at_the_end(every, expected):
    checkpoints = Records()
    callback = save_checkpoints(fit.StopRequest(), checkpoints, every)
    model = run(callback, [{}] * 7)
    assert checkpoints.calls == expected
    assert not model.stop_training


def test_wish_to_stop_saves_first():
    stop, checkpoints = fit.StopRequest(), Records()
    callback = save_checkpoints(stop, checkpoints)
    model = run(callback, [{}])
    assert checkpoints.calls == [] and not model.stop_training
    stop.signal_name = "SIGTERM"
    run(callback, [{}], model)
    assert checkpoints.calls == [6] and model.stop_training
