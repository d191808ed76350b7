"""One device here; several in processes of their own."""

import os

import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.training import strategy
from tests.reference import replicas

if keras.config.backend() != "jax":
    pytest.skip("for the JAX backend", allow_module_level=True)

import jax


def devices(count):
    return strategy.Devices(
        strategy_name="data_parallel",
        num_replicas=count,
        tpu="",
        jit_compile=True,
    )


def test_more_than_there_are():
    count = len(jax.devices()) + 1
    with pytest.raises(errors.InputError, match=f"{count}.*XLA_FLAGS"):
        devices(count).open()


def test_scope_is_left_alone_where_a_batch_is_not_cut():
    found = devices(1).open()
    assert found.num_replicas == 1
    try:
        with found.scope():
            pass
        assert keras.distribution.distribution() is found.distribution
        with found.uncut():
            assert keras.distribution.distribution() is None
        assert keras.distribution.distribution() is found.distribution
    finally:
        keras.distribution.set_distribution(None)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
def test_replicas_learn_what_one_device_learns(tmp_path, one, count):
    several = replicas.run(tmp_path / "n", "jax", "data_parallel", count)
    found = replicas.differences(one, several)
    print(replicas.row("jax", "data_parallel", count, found))
    for task in replicas.TASKS:
        assert max(found[task].values()) <= replicas.LIMIT


@pytest.mark.slow
def test_every_replica_draws_its_own_dropout(tmp_path):
    replicas.assert_own_dropout(tmp_path, "jax", "data_parallel")


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    path = tmp_path_factory.mktemp("replicas") / "one"
    return replicas.run(path, "jax", "none", 1)


def test_the_environment_asks_for_no_devices():
    """Other tests count on one."""
    assert "device_count" not in os.environ.get("XLA_FLAGS", "")
