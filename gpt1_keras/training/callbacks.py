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


class NonFiniteLoss(errors.RunError):
    """The loss or gradient of a step is NaN or infinite."""


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


class StopOnNonFiniteLoss(_PerStep):
    """Raises `NonFiniteLoss` before a bad state can be saved.

    The same command would end at the same step again.
    """

    def after_step(self, logs):
        for name in ("loss", "gradient_norm"):
            value = float(logs[name])
            if not math.isfinite(value):
                raise NonFiniteLoss(
                    f"{name} is {value} at step {self.step}: lower"
                    " `peak_learning_rate` or lengthen `warmup_steps`, and"
                    " give another --workdir"
                )


@_settings(kw_only=True)
class LogMetrics(_PerStep):
    """Logs losses, perplexity, learning rate, speed; advances the bar.

    Perplexity is computed from the language-model loss: `lm_loss` if there is a
    task loss, else `loss`. The speed includes waiting for the batch, except on
    torch, where Keras fetches it before the step begins.
    """

    history: results.History  # gets a line every `every` steps
    every: int
    tokens_per_step: int
    flops_per_token: float = 0  # 0: unknown
    peak: float | None = None  # GFLOP/s of the device; None: unknown
    advance: collections.abc.Callable  # `(amount, note)`, of `console.bar`
    _seconds = 0.0
    _steps = 0

    def on_train_batch_begin(self, batch, logs=None):
        self._started = time.monotonic()

    def after_step(self, logs):
        self._seconds += time.monotonic() - self._started
        self._steps += 1
        speed = self._steps * self.tokens_per_step / self._seconds
        values = {
            name: float(value)
            for name, value in logs.items()
            if name.endswith("loss")
        }
        note = f"loss {values['loss']:.3f}, "
        lm_loss = values.get("lm_loss" if "task_loss" in values else "loss")
        if lm_loss is not None:
            values["perplexity"] = results.perplexity(lm_loss)
            note += f"perplexity {values['perplexity']:.1f}, "
        speeds = {"tokens_per_second": speed}
        note += f"{speed:,.0f} tokens/s"
        if self.flops_per_token:
            gflops = speed * self.flops_per_token / 1e9
            speeds["gflops_per_second"] = gflops
            note += f", {gflops:,.1f} GFLOP/s"
            if self.peak:
                speeds["share_of_peak"] = gflops / self.peak
                note += f" ({100 * gflops / self.peak:.0f} % of the peak)"
        self.advance(1, note)
        if self.step % self.every == 0:
            rate = self.model.optimizer._learning_rate
            if callable(rate):
                rate = rate(self.step - 1)
            self.history.write(
                self.step,
                **values,
                gradient_norm=float(logs["gradient_norm"]),
                **speeds,
                learning_rate=float(ops.convert_to_numpy(rate)),
            )
            self._seconds, self._steps = 0.0, 0


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

    def __post_init__(self):
        super().__post_init__()
        self._saved = time.monotonic()

    def after_step(self, logs):
        is_due = self.every and self.step % self.every == 0
        limit = 60 * self.minutes or math.inf
        is_late = time.monotonic() - self._saved >= limit
        if is_due or is_late or self.step == self.last_step or self.stop:
            self.checkpoints.save(self.step, self.model)
            self._saved = time.monotonic()
        if self.stop:
            self.model.stop_training = True
