import dataclasses

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.runs import finetune
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import strategy
from tests.reference import small_models

SETTINGS = finetune.FineTuning(
    batch_size=4,
    microbatch_size=None,
    num_epochs=3,
    num_train_examples=None,
    sequence_length=None,
    clip_norm=1.0,
    lm_loss_weight=0.5,
    softmax_over="tokens",
    softmax_chunk=8,
    classifier_dropout=0.1,
    initializer_range=0.02,
    bucket_lengths=(8, 12),
    pool_batches=2,
    evaluation_batch_size=4,
    num_scored_train_examples=5,
    early_evaluation_steps=(1000, 2000),
    dtype="float32",
    batches=finetune.encoded_batches,
)


def changed(**values):
    return dataclasses.replace(SETTINGS, **values)


@pytest.mark.parametrize(
    "steps_per_epoch, expected",
    [
        (80, {80, 160, 240}),
        (1000, {1000, 2000, 3000}),
        (1500, {1000, 1500, 3000, 4500}),
        (12000, {1000, 2000, 12000, 24000, 36000}),
    ],
)
def test_evaluation_steps(steps_per_epoch, expected):
    """At the end of each epoch, and early in the first one."""
    assert SETTINGS.evaluation_steps(steps_per_epoch) == expected


@pytest.mark.parametrize(
    "given, positions, expected", [(None, 512, 512), (128, 512, 128)]
)
def test_longest_sequence(given, positions, expected):
    settings = changed(sequence_length=given)
    assert settings.max_sequence_length(positions) == expected


@pytest.mark.parametrize(
    "values, expected",
    [
        ({"batch_size": 6, "microbatch_size": 4}, "`microbatch_size` 4"),
        ({"num_epochs": 0}, "`num_epochs` is 0"),
        ({"sequence_length": -5}, "`sequence_length` is -5: give .* or None"),
        ({"sequence_length": 0}, "`sequence_length` is 0"),
        ({"clip_norm": -1}, "`clip_norm` is -1: give a number"),
        ({"lm_loss_weight": "a"}, "`lm_loss_weight` is 'a': give a number"),
        ({"classifier_dropout": 2}, "`classifier_dropout` is 2: give a number"),
        ({"num_epochs": 1.5}, "`num_epochs` is 1.5: give a whole number"),
        ({"evaluation_batch_size": 0}, "`evaluation_batch_size` is 0"),
        ({"early_evaluation_steps": 9}, "`early_evaluation_steps` is 9: give"),
        ({"bucket_lengths": (8, 0.5)}, "`bucket_lengths` is .8, 0.5.: give"),
        ({"softmax_over": "all"}, "`softmax_over` is 'all'"),
    ],
)
def test_mistakes(values, expected):
    with pytest.raises(errors.InputError, match=expected):
        changed(**values).check(strategy.ONE_DEVICE)


def test_too_long_a_sequence():
    with pytest.raises(errors.InputError, match="more than the preset's 12"):
        changed(sequence_length=13).max_sequence_length(12)


@pytest.mark.parametrize(
    "name, num_logits, regression",
    [
        ("rte", 2, False),
        ("stsb", 6, False),
        ("stsb", 1, True),
        ("race", 4, False),
    ],
)
def test_network_of_a_task(name, num_logits, regression):
    task = benchmarks.benchmark(name, regression=regression)
    network = finetune.build_network(
        task, small_models.network(), small_models.byte_pairs(), SETTINGS
    )
    candidates = {"rte": 1, "stsb": 2, "race": 4}[name]
    outputs = network(
        {
            "token_ids": np.ones((3, candidates, 5), "int32"),
            "extract_position": np.full((3, candidates), 4, "int32"),
        }
    )
    assert tuple(outputs["logits"].shape) == (3, num_logits)
    preprocessor = network.preprocessor
    assert (preprocessor.task, preprocessor.sequence_length) == (name, 12)
    assert preprocessor.is_regression == regression
    assert network.head.dropout == 0.1


def test_losses_of_a_task():
    task = benchmarks.benchmark("rte")
    network = finetune.build_network(
        task, small_models.network(), small_models.byte_pairs(), SETTINGS
    )
    learner = finetune.build_learner(network, task, SETTINGS)
    assert learner.loss_names == ("loss", "task_loss", "lm_loss")
    without = finetune.build_learner(network, task, changed(lm_loss_weight=0.0))
    assert without.loss_names == ("loss", "task_loss")
