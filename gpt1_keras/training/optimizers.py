"""The released code's Adam and its learning-rate schedules.

From finetune-transformer-lm opt.py, lines 5-49.
"""

import dataclasses
import functools
import math

import keras
from absl import logging
from keras import ops

from gpt1_keras import checks
from gpt1_keras.layers import fused


@dataclasses.dataclass(kw_only=True, eq=False)
class _WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to `peak_learning_rate`, then a decay to 0.

    `_shape` returns the rate as a fraction of the peak; `x` is the fraction of
    the training that is done, and `w` in the formulas that of the warm-up.
    """

    peak_learning_rate: float
    num_steps: int  # of the whole training
    warmup_steps: float  # may be fractional (0.2 % of 138 steps)

    def __call__(self, step):
        step = ops.cast(step, "float32")
        x = ops.minimum(step / self.num_steps, 1.0)
        rising = step / max(self.warmup_steps, 1e-12)
        rate = self._shape(x, rising, step <= self.warmup_steps)
        return self.peak_learning_rate * rate

    def get_config(self):
        return dataclasses.asdict(self)


@keras.saving.register_keras_serializable(package="gpt1_keras")
class WarmupLinear(_WarmupSchedule):
    """Fine-tuning: `(x / w if x <= w else 1) * (1 - x)`.

    Examples:
        The first step has rate 0, as in the released code:

        >>> schedule = WarmupLinear(
        ...     peak_learning_rate=1.0, num_steps=100, warmup_steps=10
        ... )
        >>> [round(float(schedule(step)), 3) for step in (0, 5, 10, 50, 100)]
        [0.0, 0.475, 0.9, 0.5, 0.0]
    """

    def _shape(self, x, rising, warming):
        return ops.where(warming, rising, 1.0) * (1.0 - x)


@keras.saving.register_keras_serializable(package="gpt1_keras")
class WarmupCosine(_WarmupSchedule):
    """Pretraining: `x / w if x <= w else (1 + cos(pi x)) / 2`.

    The cosine spans the whole training, warm-up included, as in the released
    function. The paper only says "annealed to 0 using a cosine schedule".
    """

    def _shape(self, x, rising, warming):
        cosine = 0.5 * (1.0 + ops.cos(math.pi * x))
        return ops.where(warming, rising, cosine)


@keras.saving.register_keras_serializable(package="gpt1_keras")
class WarmupHold(_WarmupSchedule):
    """`x / w if x <= w else min(1, 10 (1 - x))`: falls in the last tenth.

    Not in the paper. Before the last tenth, the rate does not depend on the
    number of steps, so a run can be extended as if planned longer.
    """

    def _shape(self, x, rising, warming):
        return ops.where(warming, rising, ops.minimum(1.0, 10.0 * (1.0 - x)))


@keras.saving.register_keras_serializable(package="gpt1_keras")
class AdamWithDecay(keras.optimizers.Optimizer):
    """Adam with a weight decay that is multiplied by the rate of its update.

    With `t` the number of steps before this one:

        m = b1 m + (1 - b1) g            v = b2 v + (1 - b2) g^2
        rate = learning_rate(t) sqrt(1 - b2^(t+1)) / (1 - b1^(t+1))
        p = p - rate (m / (sqrt(v) + epsilon) + weight_decay p)

    The decay is multiplied by the schedule *and* the bias correction, and
    applies only to matrices: biases and gains have rank 1. Keras's AdamW
    multiplies it by the schedule alone, for all variables that are not
    excluded. `training.step` clips the gradient by its global norm beforehand.

    Args:
        learning_rate: float or schedule.
        beta_1, beta_2: float. Decay rates `b1` and `b2` of the moments.
        epsilon: float. Added to the uncorrected root of `v`.
        weight_decay: float.
    """

    def __init__(
        self,
        *,
        learning_rate,
        beta_1,
        beta_2,
        epsilon,
        weight_decay,
        name="adam_with_decay",
        **kwargs,
    ):
        super().__init__(learning_rate, weight_decay, name=name, **kwargs)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )

    def _apply_weight_decay(self, variables):
        """Do nothing, unlike Keras: the decay is part of the update."""

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        # Here once; in `update_step`, TensorFlow would repeat it per variable.
        step = ops.cast(self.iterations + 1, "float32")
        rate = (
            ops.cast(learning_rate, "float32")
            * ops.sqrt(_one_minus_power(self.beta_2, step))
            / _one_minus_power(self.beta_1, step)
        )
        super()._backend_update_step(grads, trainable_variables, rate)

    def update_step(self, gradient, variable, rate):
        """Update a variable; `rate` includes the bias correction."""
        index = self._get_variable_index(variable)
        momentum, velocity = self._momentums[index], self._velocities[index]
        gradient = ops.cast(gradient, variable.dtype)
        rate = ops.cast(rate, variable.dtype)
        is_matrix = len(variable.shape) > 1
        is_decayed = is_matrix and self._use_weight_decay(variable)
        decay = self.weight_decay if is_decayed else 0.0
        update = _update(self.beta_1, self.beta_2, self.epsilon, decay)
        changed = (momentum, velocity, variable)
        values = update(*map(ops.stop_gradient, changed), gradient, rate)
        for variable, value in zip(changed, values):
            self.assign(variable, value)

    def get_config(self):
        return super().get_config() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


@functools.cache
def _update(beta_1, beta_2, epsilon, decay):
    """Return the formulas of `AdamWithDecay`, compiled into one loop."""

    def update(m, v, p, gradient, rate):
        m = m + (gradient - m) * (1.0 - beta_1)
        v = v + (ops.square(gradient) - v) * (1.0 - beta_2)
        return m, v, p - rate * (m / (ops.sqrt(v) + epsilon) + decay * p)

    return fused.compiled(update)


def _one_minus_power(beta, step):
    """Return `1 - beta ** step`, accurate in float32 for beta near 1."""
    if not beta:
        return 1.0
    return -ops.expm1(step * math.log(beta))


def adam_with_decay(
    *,
    num_steps,
    schedule: checks.ScheduleBuilder,
    peak_learning_rate: checks.UpToOne,
    warmup_steps: checks.NotNegative | None,
    warmup_fraction: checks.Share | None,
    beta_1: checks.Rate,
    beta_2: checks.Rate,
    epsilon: checks.UpToOne,
    weight_decay: checks.Share,
):
    """Return an `AdamWithDecay`; gin binds all arguments but `num_steps`.

    If `warmup_steps` is None, the warm-up takes `warmup_fraction` of all steps.
    """
    if warmup_steps is None:
        checks.check("warmup_fraction", warmup_fraction, checks.Share)
        warmup_steps = warmup_fraction * num_steps
    if num_steps == 1:
        logging.warning(
            "nothing is learned in a single step, since the learning rate"
            " rises from 0: train longer"
        )
    elif warmup_steps >= num_steps:
        logging.warning(
            f"the warm-up takes {warmup_steps:,.0f} of {num_steps:,} steps, so"
            " the learning rate never reaches its peak: shorten the warm-up"
        )
    return AdamWithDecay(
        learning_rate=schedule(
            peak_learning_rate=peak_learning_rate,
            num_steps=num_steps,
            warmup_steps=warmup_steps,
        ),
        beta_1=beta_1,
        beta_2=beta_2,
        epsilon=epsilon,
        weight_decay=weight_decay,
    )
