"""Learning rates of the released code (finetune-transformer-lm opt.py, 5-15).

Both run over `x = step / num_steps` with the step counted *before* the
update, so the first update has rate 0 and changes nothing.
"""

import math

import keras
from keras import ops


class _WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to `peak_learning_rate`, then a decay to 0.

    Args:
        peak_learning_rate: float.
        num_steps: int. Updates in the whole training.
        warmup_steps: float. Updates of the warm-up; a fraction of an update
            is allowed (0.2 % of 138 updates).
    """

    def __init__(self, *, peak_learning_rate, num_steps, warmup_steps):
        self.peak_learning_rate = peak_learning_rate
        self.num_steps = num_steps
        self.warmup_steps = warmup_steps

    def _shape(self, x, rising, warming):
        """Return the rate as a share of its peak."""
        raise NotImplementedError

    def __call__(self, step):
        step = ops.cast(step, "float32")
        x = step / self.num_steps
        rising = step / max(self.warmup_steps, 1e-12)
        return self.peak_learning_rate * self._shape(
            x, rising, step <= self.warmup_steps
        )

    def get_config(self):
        return {
            "peak_learning_rate": self.peak_learning_rate,
            "num_steps": self.num_steps,
            "warmup_steps": self.warmup_steps,
        }


@keras.saving.register_keras_serializable(package="gpt1_keras")
class WarmupLinear(_WarmupSchedule):
    """Fine-tuning: `(x / w if x <= w else 1) * (1 - x)`."""

    def _shape(self, x, rising, warming):
        return ops.where(warming, rising, 1.0) * (1.0 - x)


@keras.saving.register_keras_serializable(package="gpt1_keras")
class WarmupCosine(_WarmupSchedule):
    """Pretraining: `x / w if x <= w else (1 + cos(pi x)) / 2`.

    The cosine is that of the whole training and not restarted after the
    warm-up, as in the released function of this name; the paper says only
    "annealed to 0 using a cosine schedule".
    """

    def _shape(self, x, rising, warming):
        cosine = 0.5 * (1.0 + ops.cos(math.pi * x))
        return ops.where(warming, rising, cosine)
