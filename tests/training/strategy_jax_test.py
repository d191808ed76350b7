import os

import keras
import pytest

from gpt1_keras import errors
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
    found, current = devices(1).open(), keras.distribution.distribution
    assert found.num_replicas == 1
    try:
        with found.scope():
            pass
        assert current() is found.distribution
        with found.single_device():
            assert current() is None
        assert current() is found.distribution
    finally:
        keras.distribution.set_distribution(None)
