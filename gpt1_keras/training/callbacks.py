"""Callbacks that run after each training step."""

import collections.abc
import dataclasses
import math
import time

import keras
from keras import ops

from gpt1_keras import errors
from gpt1_keras import results

_READING_SECONDS = 0.2  # between two readings of the logs, plus up to one step


class Callbacks(keras.callbacks.CallbackList):
    """Callback list that passes the logs of a step on as tensors.

    Keras would convert them after every step, and so wait for the device.
    """

    def on_train_batch_end(self, batch, logs=None):
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs=logs)


@dataclasses.dataclass(eq=False, repr=False, kw_only=True)
class LogMetrics(keras.callbacks.Callback):
    """Logger of losses, perplexity, learning rate, speed and progress.

    It reads the logs of several short steps together, so that the device need
    not wait for Python; at most two steps are in progress. Perplexity is that
    of `lm_loss` or, without a task loss, that of `loss`. The speed includes
    waiting for batches (on torch, not for the first one).
    """

    step: int  # steps made so far
    history: results.History  # gets a line every `every` steps
    every: int
    tokens_per_step: int
    flops_per_token: float = 0  # 0: unknown
    peak: float | None = None  # GFLOP/s of the device; None: unknown
    advance: collections.abc.Callable  # `(amount, note)`, of `console.bar`
    _started = None  # when the first unread step began
    _seconds = 0.0
    _steps = 0

    def __post_init__(self):
        super().__init__()
        self._unread = []  # logs of steps

    def on_train_batch_begin(self, batch, logs=None):
        if self._started is None:
            self._started = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        if self._unread:  # Else JAX queues 32 steps, and a signal must wait.
            ops.convert_to_numpy(self._unread[-1]["loss"])
        self._unread.append(logs)
        is_due = self.step % self.every == 0
        # Several workers get numbers: all must stop at the same bad step.
        is_read = is_due or not ops.is_tensor(logs["loss"])
        if is_read or time.monotonic() - self._started >= _READING_SECONDS:
            self.read()
        if is_due:
            self._write()

    def read(self):
        """Read the logs of all steps; raises RunError for NaN or infinity."""
        if not self._unread:
            return
        first = self.step - len(self._unread) + 1
        for step, logs in enumerate(self._unread, start=first):
            self._logs = {
                name: float(ops.convert_to_numpy(value))
                for name, value in logs.items()
            }
            for name in ("loss", "gradient_norm"):
                if not math.isfinite(self._logs[name]):
                    raise errors.RunError(
                        f"{name} is {self._logs[name]} at step {step}: lower"
                        " `peak_learning_rate` or lengthen `warmup_steps`, and"
                        " give another --workdir"
                    )
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
        if "task_loss" in values:
            note += f"task loss {values['task_loss']:.3f}, "
        else:
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


@dataclasses.dataclass(eq=False, repr=False, kw_only=True)
class AfterStep(keras.callbacks.Callback):
    """Callback for functions at intervals, checkpoints, and the end.

    In a step, the checkpoint comes last: so a run that is killed and resumed
    neither repeats nor omits records.
    """

    last_step: int
    # Called first; counts steps and reads all logs before `periodic` runs.
    metrics: LogMetrics
    # (interval or set of steps, function `(step, history)`), in this order
    periodic: list
    is_over: collections.abc.Callable | None = None  # see `fit.fit`
    checkpoints: object  # `checkpoints.Checkpoints`
    intervals: object  # `fit.Intervals`
    stop: object = None  # `fit.StopRequest`

    def __post_init__(self):
        super().__init__()
        self._saved = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        step = self.metrics.step
        for every, function in self.periodic:
            if not self._is_due(every):
                continue
            self.metrics.read()
            learner = self.model  # On JAX, accessing it updates its variables.
            function(step, self.metrics.history)
            if self.is_over is not None and self.is_over(self.metrics.history):
                learner.stop_training, self.last_step = True, step
        limit = 60 * self.intervals.checkpoint_minutes or math.inf
        is_late = time.monotonic() - self._saved >= limit
        is_due = self._is_due(self.intervals.checkpoint_steps) or is_late
        if is_due or step == self.last_step or self.stop:
            self.metrics.read()
            self.checkpoints.save(step, self.model)
            self._saved = time.monotonic()
            # Not below: a request that comes now needs a save of its own.
            if self.stop:
                self.model.stop_training = True

    def _is_due(self, every):
        """Return whether a set holds this step, or an interval ends here."""
        if isinstance(every, int):
            return every > 0 and self.metrics.step % every == 0
        return self.metrics.step in every
