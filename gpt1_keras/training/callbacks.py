"""What happens between two updates of a run.

The order in the list given to `fit` matters: check, log, evaluate, save. A
checkpoint of a step then implies that everything of this step is recorded,
and a killed run repeats or omits nothing.
"""

import math
import time

import keras
from keras import ops

from gpt1_keras import results


class NonFiniteLoss(ArithmeticError):
    """The loss or the gradient is NaN or infinite.

    Attributes:
        step: int. The update at which it was; the one before left weights
            that give no finite loss any more.
    """

    def __init__(self, name, value, step):
        super().__init__(
            f"{name} is {value} at step {step}: lower PEAK_LEARNING_RATE or "
            "lengthen WARMUP_STEPS; the last good checkpoint is kept"
        )
        self.step = step


class _PerUpdate(keras.callbacks.Callback):
    """Counts updates from where the run began."""

    def __init__(self, first_step):
        super().__init__()
        self.step = first_step

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.after_update(logs)

    def after_update(self, logs):
        raise NotImplementedError


class StopOnNonFiniteLoss(_PerUpdate):
    """Ends the run before a bad state can be saved."""

    def after_update(self, logs):
        for name in ("loss", "gradient_norm"):
            value = float(logs[name])
            if not math.isfinite(value):
                raise NonFiniteLoss(name, value, self.step)


class LogMetrics(_PerUpdate):
    """Writes losses, perplexity, rate and speed, and shows them.

    The perplexity is that of the language-model loss, where the model has
    one: `lm_loss` beside a task's loss, else `loss`.

    Args:
        first_step: int. Updates made before.
        history: `results.History`.
        every: int. Updates between two lines.
        tokens_per_step: int.
        show: function `(step, values)` that draws progress, called after
            every update.
    """

    def __init__(self, first_step, *, history, every, tokens_per_step, show):
        super().__init__(first_step)
        self.history = history
        self.every = every
        self.tokens_per_step = tokens_per_step
        self.show = show
        self._seconds = 0.0
        self._updates = 0

    def on_train_batch_begin(self, batch, logs=None):
        self._started = time.monotonic()

    def after_update(self, logs):
        self._seconds += time.monotonic() - self._started
        self._updates += 1
        values = {
            **_losses(logs),
            "gradient_norm": float(logs["gradient_norm"]),
            "tokens_per_second": (
                self._updates * self.tokens_per_step / self._seconds
            ),
        }
        self.show(self.step, values)
        if self.step % self.every == 0:
            rate = self.model.optimizer._learning_rate
            if callable(rate):
                rate = rate(self.step - 1)
            values["learning_rate"] = float(ops.convert_to_numpy(rate))
            self.history.write(self.step, **values)
            self._seconds, self._updates = 0.0, 0


def _losses(logs):
    """Return the losses of an update and the perplexity, as floats."""
    losses = {
        name: float(value)
        for name, value in logs.items()
        if name.endswith("loss")
    }
    is_language_model = "task_loss" not in losses
    loss = losses.get("loss" if is_language_model else "lm_loss")
    if loss is not None:
        losses["perplexity"] = results.perplexity(loss)
    return losses


class Periodically(_PerUpdate):
    """Calls `function(step)` every so many updates, or after certain ones.

    Args:
        first_step: int. Updates made before.
        every: int, updates between two calls, 0 for never; or a set of
            steps.
        function: `function(step)`.
    """

    def __init__(self, first_step, *, every, function):
        super().__init__(first_step)
        self.every = every
        self.function = function

    def after_update(self, logs):
        if isinstance(self.every, int):
            is_due = self.every and self.step % self.every == 0
        else:
            is_due = self.step in self.every
        if is_due:
            # On JAX, reading the model brings its variables up to date.
            _ = self.model
            self.function(self.step)


class SaveCheckpoints(_PerUpdate):
    """Saves at intervals, after the last update and when asked to stop.

    Args:
        first_step: int. Updates made before.
        checkpoints: `checkpoints.Checkpoints`.
        every: int. Updates between two checkpoints.
        last_step: int. The last update of the run.
        stop: `fit.StopRequest`.
    """

    def __init__(self, first_step, *, checkpoints, every, last_step, stop):
        super().__init__(first_step)
        self.checkpoints = checkpoints
        self.every = every
        self.last_step = last_step
        self.stop = stop

    def after_update(self, logs):
        is_due = self.every and self.step % self.every == 0
        if is_due or self.step == self.last_step or self.stop:
            self.checkpoints.save(self.step, self.model)
        if self.stop:
            self.model.stop_training = True
