"""Callbacks that run after each training step."""

import collections.abc
import dataclasses
import functools
import math
import time

import keras
from keras import ops

from gpt1_keras import errors
from gpt1_keras import results

_READING_SECONDS = 0.2  # between two readings of the logs, at most a step more


class NonFiniteLoss(errors.RunError):
    """The loss or gradient of a step is NaN or infinite."""


class Callbacks(keras.callbacks.CallbackList):
    """Passes on the logs of a step as tensors.

    Keras would read them after every step, and so wait for the device.
    """

    def on_train_batch_end(self, batch, logs=None):
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


# Callbacks are compared by identity, and Keras prints none.
_settings = functools.partial(dataclasses.dataclass, eq=False, repr=False)


@_settings
class _PerStep(keras.callbacks.Callback):
    """Counts steps on top of the `step` steps already made."""

    step: int

    def __post_init__(self):
        super().__init__()

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.after_step(logs)


@_settings(kw_only=True)
class LogMetrics(_PerStep):
    """Logs losses, perplexity, learning rate, speed; advances the bar.

    It reads the logs of several short steps together, so that the device
    need not wait for Python: at most two steps are in progress. Perplexity is
    computed from the language-model loss: `lm_loss` if there is a task loss,
    else `loss`. The speed is that between two readings and includes waiting
    for the batches; only the first batch after a reading is on torch fetched
    before its step begins.
    """

    history: results.History  # gets a line every `every` steps
    every: int
    tokens_per_step: int
    flops_per_token: float = 0  # 0: unknown
    peak: float | None = None  # GFLOP/s of the device; None: unknown
    advance: collections.abc.Callable  # `(amount, note)`, of `console.bar`
    _started = None  # when the first step that was not read began
    _seconds = 0.0
    _steps = 0

    def __post_init__(self):
        super().__post_init__()
        self._unread = []  # logs of steps

    def on_train_batch_begin(self, batch, logs=None):
        if self._started is None:
            self._started = time.monotonic()

    def after_step(self, logs):
        if self._unread:  # JAX would queue 32 steps, which a signal awaits
            ops.convert_to_numpy(self._unread[-1]["loss"])
        self._unread.append(logs)
        is_due = self.step % self.every == 0
        # Several workers get numbers, and must end at the same step.
        is_read = is_due or not ops.is_tensor(logs["loss"])
        if is_read or time.monotonic() - self._started >= _READING_SECONDS:
            self.read()
        if is_due:
            self._write()

    def read(self):
        """Read the logs of all steps so far.

        Raises:
            NonFiniteLoss: after the first bad step; the same command would
                end there again.
        """
        if not self._unread:
            return
        first = self.step - len(self._unread) + 1
        for step, logs in enumerate(self._unread, start=first):
            self._logs = {
                name: float(ops.convert_to_numpy(value))
                for name, value in logs.items()
            }
            _check_finite(self._logs, step)
        count, self._unread = len(self._unread), []
        self._seconds += time.monotonic() - self._started
        self._steps += count
        self._started = None
        self.advance(count, self._note())

    def _values(self):
        """Return the logs of the last step, its perplexity, and the speed."""
        values = dict(self._logs)
        lm_loss = values.get("lm_loss" if "task_loss" in values else "loss")
        if lm_loss is not None:
            values["perplexity"] = results.perplexity(lm_loss)
        speed = self._steps * self.tokens_per_step / self._seconds
        values["tokens_per_second"] = speed
        if self.flops_per_token:
            gflops = speed * self.flops_per_token / 1e9
            values["gflops_per_second"] = gflops
            if self.peak:
                values["share_of_peak"] = gflops / self.peak
        return values

    def _note(self):
        values = self._values()
        note = f"loss {values['loss']:.3f}, "
        if "perplexity" in values:
            note += f"perplexity {values['perplexity']:.1f}, "
        note += f"{values['tokens_per_second']:,.0f} tokens/s"
        if "gflops_per_second" in values:
            note += f", {values['gflops_per_second']:,.1f} GFLOP/s"
        if "share_of_peak" in values:
            note += f" ({100 * values['share_of_peak']:.0f} % of the peak)"
        return note

    def _write(self):
        rate = self.model.optimizer._learning_rate
        if callable(rate):
            rate = rate(self.step - 1)
        rate = float(ops.convert_to_numpy(rate))
        self.history.write(self.step, **self._values(), learning_rate=rate)
        self._seconds, self._steps = 0.0, 0


def _check_finite(values, step):
    for name in ("loss", "gradient_norm"):
        if not math.isfinite(values[name]):
            raise NonFiniteLoss(
                f"{name} is {values[name]} at step {step}: lower"
                " `peak_learning_rate` or lengthen `warmup_steps`, and"
                " give another --workdir"
            )


@_settings(kw_only=True)
class Periodically(_PerStep):
    """Calls `function(step)` at intervals or after given steps."""

    every: int | set  # the interval in steps, 0 for never; or the steps
    function: collections.abc.Callable

    def after_step(self, logs):
        if isinstance(self.every, int):
            is_due = self.every and self.step % self.every == 0
        else:
            is_due = self.step in self.every
        if is_due:
            # On JAX, accessing the model updates its variables.
            _ = self.model
            self.function(self.step)


@_settings(kw_only=True)
class SaveCheckpoints(_PerStep):
    """Saves at intervals, after the last step and when asked to stop."""

    checkpoints: object  # `checkpoints.Checkpoints`
    every: int  # steps between two checkpoints; 0: only the last one
    minutes: float = 0  # between two of them; 0: no limit
    last_step: int
    stop: object  # `fit.StopRequest`
    check: collections.abc.Callable  # raises where the state is bad

    def __post_init__(self):
        super().__post_init__()
        self._saved = time.monotonic()

    def after_step(self, logs):
        is_due = self.every and self.step % self.every == 0
        limit = 60 * self.minutes or math.inf
        is_late = time.monotonic() - self._saved >= limit
        if is_due or is_late or self.step == self.last_step or self.stop:
            self.check()
            self.checkpoints.save(self.step, self.model)
            self._saved = time.monotonic()
        if self.stop:
            self.model.stop_training = True
