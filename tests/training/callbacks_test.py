import math
import types
from unittest import mock

import keras
import pytest
from keras import ops

from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras.training import callbacks


def model_of(rate=0.5):
    """As much of a `keras.Model` as these callbacks look at."""
    optimizer = types.SimpleNamespace(_learning_rate=rate)
    return types.SimpleNamespace(optimizer=optimizer, stop_training=False)


def run(callback, logs, model=None, as_log=ops.convert_to_tensor):
    """Feed one dict of logs per step; return the model."""
    model = model or model_of()
    callback.set_model(model)
    for batch, values in enumerate(logs):
        values = {"loss": 1.0, "gradient_norm": 1.0} | values
        callback.on_train_batch_begin(batch)
        callback.on_train_batch_end(
            batch, {name: as_log(value) for name, value in values.items()}
        )
    return model


def log(first_step=0, **options):
    """Return a `LogMetrics`, what it writes and what it shows."""
    lines, shown = [], []
    history = types.SimpleNamespace(
        write=lambda step, **values: lines.append((step, values))
    )
    callback = callbacks.LogMetrics(
        step=first_step,
        history=history,
        tokens_per_step=100,
        advance=lambda amount, note: shown.append((amount, note)),
        **options,
    )
    return callback, lines, shown


def test_logs_are_passed_on_as_tensors():
    seen, loss = [], ops.ones(())
    record = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(logs["loss"])
    )
    called = callbacks.Callbacks([record])
    called.on_train_batch_end(0, {"loss": loss})
    assert seen[0] is loss


@pytest.mark.parametrize("name", ["loss", "gradient_norm"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_non_finite_loss_ends_the_run_and_names_the_step(name, value):
    callback, lines, _ = log(10, every=4)
    expected = f"{name} is {value} at step 13.*`peak_learning_rate`"
    logs = [{"loss": 1e30}, {"loss": -1.0}, {name: value}, {}, {}, {}]
    with pytest.raises(errors.RunError, match=expected):
        run(callback, logs)
    assert [step for step, _ in lines] == [12]


@pytest.mark.parametrize(
    "seconds, as_log, expected",
    [
        (0.0, ops.convert_to_tensor, [1, 1, 1, 1, 1]),
        (60.0, ops.convert_to_tensor, [1, 2, 2]),
        (60.0, float, [1, 1, 1, 1, 1]),
    ],
)
def test_metrics_are_written_at_intervals(
    monkeypatch, seconds, as_log, expected
):
    monkeypatch.setattr(callbacks, "_READING_SECONDS", seconds)
    callback, lines, shown = log(3, every=2)
    # The schedule counts the steps made before.
    model = model_of(rate=lambda step: 0.1 * step)
    losses = [{"loss": x} for x in (1.0, 2.0, 3.0, 4.0, 5.0)]
    run(callback, losses, model, as_log)
    assert [amount for amount, _ in shown] == expected
    assert shown[1][1].startswith(f"loss {1 + expected[1]:.3f}, perplexity ")
    (first, values), (second, _), _ = lines
    assert (first, second) == (4, 6)
    assert values.pop("tokens_per_second") > 0
    assert values == pytest.approx(
        {"loss": 1.0, "perplexity": math.e}
        | {"gradient_norm": 1.0, "learning_rate": 0.3}
    )


def test_at_most_two_steps_are_in_progress(monkeypatch):
    waited, read = [], ops.convert_to_numpy
    monkeypatch.setattr(callbacks, "_READING_SECONDS", 60.0)
    monkeypatch.setattr(
        callbacks.ops, "convert_to_numpy", lambda x: waited.append(read(x))
    )
    callback, _, _ = log(every=9)
    run(callback, [{"loss": x} for x in (1.0, 2.0, 3.0)])
    assert waited == [1.0, 2.0]


def test_speed_is_measured_between_two_readings(monkeypatch):
    clock = iter([0.0, 0.1, 4.0, 10.0, 10.1, 18.0])
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: next(clock))
    callback, lines, shown = log(every=2, flops_per_token=4e8, peak=80.0)
    run(callback, [{"task_loss": 0.25, "lm_loss": 4.0}] * 4)
    assert "loss 1.000, task loss 0.250, 50 tokens/s" in shown[0][1]
    # 200 tokens in 4 and 8 seconds, without what lies between the readings.
    (_, first), (_, second) = lines
    assert (first["tokens_per_second"], second["tokens_per_second"]) == (50, 25)
    # A token takes 0.4 GFLOP.
    assert shown[0][1].endswith("50 tokens/s, 20.0 GFLOP/s (25 % of the peak)")
    assert (first["gflops_per_second"], first["share_of_peak"]) == (20, 0.25)


def after_step(saved, **options):
    """Return an `AfterStep` and note its calls in the list `saved`."""
    metrics = mock.Mock(step=4, read=lambda: saved.append("read"))
    callback = callbacks.AfterStep(
        last_step=9,
        metrics=metrics,
        periodic=[(8, lambda *_: saved.append("seen"))],
        checkpoints=types.SimpleNamespace(
            save=lambda step, _: saved.append(step)
        ),
        intervals=types.SimpleNamespace(
            checkpoint_steps=0, checkpoint_minutes=1
        ),
        **options,
    )

    def count(batch):
        metrics.step += 1

    callback.on_train_batch_begin = count
    return callback


def test_a_signal_at_any_moment_stops_after_a_save():
    saved, answers = [], iter([False, True])  # It comes after the first look.
    is_asked = type("Stop", (), {"__bool__": lambda _: next(answers, True)})
    model = run(after_step(saved, stop=is_asked()), [{}])
    assert (saved, model.stop_training) == ([], False)


def test_checkpoints_by_time(monkeypatch):
    # Built at 0; each save takes 30 seconds, which do not count.
    clock = iter([0, 50, 65, 95, 130, 156, 186, 187, 217])
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: next(clock))
    saved = []
    run(after_step(saved), [{}] * 5)
    assert saved == ["read", 6, "read", "seen", "read", 8, "read", 9]


def test_remaining_time_forgets_slow_first_steps(monkeypatch, capsys):
    """As when each length of batches is compiled."""
    now = 0.0
    clock = types.SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(console, "time", clock)
    monkeypatch.setattr("rich.console.monotonic", clock.monotonic)
    with console.bar("steps", 1000) as advance:
        for seconds in 10 * [30.0] + 400 * [1.0]:
            now += seconds
            advance(1)
    lines = capsys.readouterr().err.splitlines()
    # No estimate in the first 120 seconds: it would be of more than 8 hours.
    assert lines[:2] == ["steps: 0 %"] * 2 and "left" in lines[2]
    # 590 steps of a second.
    assert lines[-1] == "steps: 41 %, about 0:09:50 left"
