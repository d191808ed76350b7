"""One device here; several in processes of their own."""

import os

import keras
import pytest

from gpt1_keras import errors
from tests.reference import replicas
from tests.training import strategy_test

if keras.config.backend() != "jax":
    pytest.skip("for the JAX backend", allow_module_level=True)

import jax


def devices(count):
    return strategy_test.devices("data_parallel", num_replicas=count)


def test_more_than_there_are():
    count = len(jax.devices()) + 1
    with pytest.raises(
        errors.InputError, match=f"`num_replicas` is {count}.*XLA_FLAGS"
    ):
        devices(count).open()
    # The environment asks for no devices: other tests count on one.
    assert "device_count" not in os.environ.get("XLA_FLAGS", "")


def test_the_scope_is_suspended_for_a_single_device():
    found = devices(1).open()
    assert found.num_replicas == 1
    try:
        with found.scope():
            pass
        assert keras.distribution.distribution() is found.distribution
        with found.single_device():
            assert keras.distribution.distribution() is None
        assert keras.distribution.distribution() is found.distribution
    finally:
        keras.distribution.set_distribution(None)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_replicas_learn_what_one_device_learns(tmp_path, count):
    replicas.assert_equal_to_one_device(
        tmp_path, "jax", {"data_parallel": count}
    )


@pytest.mark.slow
def test_every_replica_draws_its_own_dropout(tmp_path):
    replicas.assert_own_dropout(tmp_path, "jax", "data_parallel")
