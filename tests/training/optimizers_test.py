import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras.training import optimizers

HYPERPARAMETERS = {
    "beta_1": 0.9,
    "beta_2": 0.999,
    "epsilon": 1e-8,
    "weight_decay": 0.01,
}


def released_adam(weight, gradients, rates):
    """The update of the released opt.py (lines 36-48), in float64."""
    weight = np.asarray(weight, "float64")
    m, v = np.zeros_like(weight), np.zeros_like(weight)
    for t, (gradient, rate) in enumerate(zip(gradients, rates)):
        rate = rate * np.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1))
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        update = m / (np.sqrt(v) + 1e-8)
        if weight.ndim > 1:
            update = update + 0.01 * weight
        weight = weight - rate * update
    return weight


def train(optimizer, weights, gradients):
    """Return the weights after each update."""
    variables = [keras.Variable(weight) for weight in weights]
    optimizer.build(variables)
    history = []
    for step in gradients:
        optimizer.apply([ops.convert_to_tensor(g) for g in step], variables)
        history.append([ops.convert_to_numpy(v).copy() for v in variables])
    return history


def golden_schedule():
    return optimizers.WarmupLinear(
        peak_learning_rate=6.25e-5, num_steps=138, warmup_steps=0.276
    )


def test_golden_numbers_of_the_released_formula():
    optimizer = optimizers.AdamWithDecay(
        learning_rate=golden_schedule(), **HYPERPARAMETERS
    )
    ones, half = np.ones((1, 1), "float32"), np.full((1, 1), 0.5, "float32")
    history = train(optimizer, [ones], [[half]] * 4)
    expected = [
        1.0,
        0.9999378069190986,
        0.9998760883196236,
        0.9998148346898305,
    ]
    found = [float(weights[0][0, 0]) for weights in history]
    assert found == pytest.approx(expected, abs=2e-7)


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
    optimizer = optimizers.AdamWithDecay(
        learning_rate=schedule, **HYPERPARAMETERS
    )
    found = train(optimizer, weights, gradients)[-1]
    for i, weight in enumerate(weights):
        expected = released_adam(weight, [g[i] for g in gradients], rates)
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-6)


def test_decay_falls_on_matrices_only():
    """Without a gradient only the decay moves a weight."""
    optimizer = optimizers.AdamWithDecay(
        learning_rate=0.5, **(HYPERPARAMETERS | {"weight_decay": 0.1})
    )
    weights = [np.ones(s, "float32") for s in ((2, 3), (3,))]
    zeros = [np.zeros_like(weight) for weight in weights]
    matrix, vector = train(optimizer, weights, [zeros])[0]
    # The bias correction is part of the decay's rate: sqrt(0.001) / 0.1.
    expected = 1 - 0.5 * np.sqrt(0.001) / 0.1 * 0.1
    np.testing.assert_allclose(matrix, expected, rtol=1e-5)
    assert (vector == 1.0).all()


def test_config_round_trip_trains_alike():
    optimizer = optimizers.AdamWithDecay(
        learning_rate=golden_schedule(), **HYPERPARAMETERS
    )
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert isinstance(again, optimizers.AdamWithDecay)
    assert again.get_config() == optimizer.get_config()
    weight = np.full((2, 2), 0.7, "float32")
    gradient = np.full((2, 2), 0.3, "float32")
    ours, theirs = (
        train(one, [weight], [[gradient]] * 3)[-1][0]
        for one in (optimizer, again)
    )
    assert (ours == theirs).all() and (ours != weight).all()


@pytest.mark.parametrize(
    "warmup, expected", [((None, 0.25), 10), ((4, None), 4), ((4, 0.25), 4)]
)
def test_builder_takes_steps_or_a_fraction(warmup, expected):
    optimizer = optimizers.adam_with_decay(
        num_steps=40,
        schedule=optimizers.WarmupLinear,
        peak_learning_rate=1.0,
        warmup_steps=warmup[0],
        warmup_fraction=warmup[1],
        **HYPERPARAMETERS,
    )
    assert optimizer._learning_rate.warmup_steps == expected
    assert optimizer.matrix_decay == 0.01
