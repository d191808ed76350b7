import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.training import optimizers
from tests.reference import small_models
from tests.reference import tiny_learner


# Rates worked by hand from the formulas of the released opt.py.
@pytest.mark.parametrize(
    "schedule, peak, num_steps, warmup_steps, expected",
    [
        # x / w (1 - x) up to x = w, then 1 - x, with x = step / 10.
        (
            *(optimizers.WarmupLinear, 2.0, 10, 2),
            {0: 0.0, 1: 0.9, 2: 1.6, 3: 1.4, 9: 0.2, 10: 0.0, 13: 0.0},
        ),
        # (1 + cos(pi x)) / 2 at x = 4/12, 6/12 is 3/4, 1/2.
        (
            *(optimizers.WarmupCosine, 2.0, 12, 3),
            {0: 0.0, 2: 4 / 3, 3: 2.0, 4: 1.5, 6: 1.0, 12: 0.0, 24: 0.0},
        ),
        # 10 (1 - x) at x = 38/40 is 1/2; full until x = 36/40.
        (
            *(optimizers.WarmupHold, 2.0, 40, 4),
            {0: 0.0, 2: 1.0, 5: 2.0, 36: 2.0, 38: 1.0, 40: 0.0, 44: 0.0},
        ),
        # No warm-up, and one that ends within the first step.
        (optimizers.WarmupLinear, 1.0, 10, 0, {0: 0.0, 1: 0.9, 10: 0.0}),
        (optimizers.WarmupCosine, 1.0, 12, 0.3, {0: 0.0, 4: 0.75, 12: 0.0}),
    ],
)
def test_rates_by_hand(schedule, peak, num_steps, warmup_steps, expected):
    made = schedule(
        peak_learning_rate=peak, num_steps=num_steps, warmup_steps=warmup_steps
    )
    for rate in (made, schedule.from_config(made.get_config())):
        assert isinstance(rate, keras.optimizers.schedules.LearningRateSchedule)
        found = {step: float(rate(step)) for step in expected}
        assert found == pytest.approx(expected, abs=1e-5)


def released_adam(weight, gradients, rates, epsilon):
    """The update of the released opt.py (lines 36-48), in float64."""
    weight = np.asarray(weight, "float64")
    m, v = np.zeros_like(weight), np.zeros_like(weight)
    for t, (gradient, rate) in enumerate(zip(gradients, rates)):
        rate = rate * np.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        update = m / (np.sqrt(v) + epsilon)
        if weight.ndim > 1:
            update = update + 0.01 * weight
        weight = weight - rate * update
    return weight


def test_several_steps_against_the_formula_in_float64():
    draws = np.random.default_rng(0)
    shapes = [(3, 4), (4,), (2, 2, 2), ()]
    weights = [draws.normal(size=s).astype("float32") for s in shapes]
    gradients = [
        [np.asarray(draws.normal(size=s), "float32") for s in shapes]
        for _ in range(6)
    ]
    schedule = optimizers.WarmupCosine(
        peak_learning_rate=0.1, num_steps=6, warmup_steps=2
    )
    rates = [0.0, 0.05, 0.1, 0.05, 0.025, 0.1 * (1 + np.cos(np.pi * 5 / 6)) / 2]
    # As large as the roots, so that it matters where it is added.
    epsilon = 0.02
    optimizer = tiny_learner.adam(schedule, epsilon=epsilon)
    variables = list(map(keras.Variable, weights))
    optimizer.build(variables)
    for step in gradients:
        optimizer.apply(list(map(ops.convert_to_tensor, step)), variables)
    for i, weight in enumerate(weights):
        expected = released_adam(
            weight, [g[i] for g in gradients], rates, epsilon
        )
        found = ops.convert_to_numpy(variables[i])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_decay_leaves_out_what_it_is_told_to_in_any_dtype():
    for dtype in ("float32", "bfloat16"):
        kernels = [
            keras.Variable(np.ones((2, 2)), dtype=dtype, name=name)
            for name in ("kernel", "table")
        ]
        optimizer = optimizers.AdamWithDecay(
            learning_rate=0.5, beta_1=0.9, beta_2=0.9, epsilon=1, weight_decay=1
        )
        optimizer.exclude_from_weight_decay(var_names=["table"])
        optimizer.build(kernels)
        optimizer.apply([ops.zeros((2, 2), dtype) for _ in kernels])
        kernel, table = map(small_models.read, kernels)
        assert np.all(kernel < 1) and np.all(table == 1)


def test_config_round_trip(tmp_path):
    schedule = optimizers.WarmupLinear(
        peak_learning_rate=6.25e-5, num_steps=138, warmup_steps=0.276
    )
    optimizer = tiny_learner.adam(schedule)
    model = small_models.language_model()
    model.compile(optimizer)
    optimizer.build(model.trainable_variables)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras").optimizer
    assert again.built and again.weight_decay == optimizer.weight_decay == 0.01
    assert again.get_config() == optimizer.get_config()


@pytest.mark.parametrize(
    "warmup, expected", [((None, 0.26), 10.4), ((4, None), 4), ((4, 0.25), 4)]
)
def test_builder_takes_steps_or_a_fraction(warmup, expected):
    sizes = {"peak_learning_rate": 0.5, "num_steps": 40}
    optimizer = optimizers.adam_with_decay(
        schedule=optimizers.WarmupLinear,
        warmup_steps=warmup[0],
        warmup_fraction=warmup[1],
        **sizes | small_models.ADAM,
    )
    schedule = optimizer._learning_rate.get_config()
    assert schedule == sizes | {"warmup_steps": expected}
    assert small_models.ADAM.items() <= optimizer.get_config().items()


def test_a_warm_up_that_takes_all_steps_is_reported(caplog):
    for num_steps, said in ((1, "nothing is learned"), (5, "warm-up takes 5")):
        optimizers.adam_with_decay(
            num_steps=num_steps,
            schedule=optimizers.WarmupCosine,
            peak_learning_rate=0.5,
            warmup_steps=5,
            warmup_fraction=None,
            **small_models.ADAM,
        )
        assert said in caplog.messages[-1]
