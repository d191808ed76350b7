"""Several devices are in processes of their own."""

import sys

import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.training import strategy
from tests.reference import replicas

BACKEND = keras.config.backend()
SEVERAL = {
    "tensorflow": [("mirrored", 2), ("multi_worker", 2)],
    "jax": [("data_parallel", 1), ("data_parallel", 2)],
}.get(BACKEND)


def devices(name, **changes):
    given = {"num_replicas": None, "tpu": "", "jit_compile": False}
    return strategy.Devices(strategy_name=name, **given | changes)


@pytest.mark.parametrize(
    "replicas, sizes, expected",
    [
        (1, (8, 3), "`batch_size` 8 .* `microbatch_size` 3"),
        (3, (8, None), "`batch_size` 8 .* 3 replicas: .* `num_replicas`"),
        (3, (12, 3), "`batch_size` 12, 4 on each of 3 replicas, .*size` 3"),
        (1, (8, 2), None),
        (3, (12, 2), None),
    ],
)
def test_sizes_of_a_batch(replicas, sizes, expected):
    found = strategy.Strategy()
    found.num_replicas = replicas
    if expected is None:
        found.check_batch(*sizes)
        found.check_share("evaluation_batch_size", sizes[0])
    else:
        with pytest.raises(errors.InputError, match=expected):
            found.check_batch(*sizes)


def test_seeds_of_replicas_are_far_apart():
    offsets = [strategy.seed_offset(replica) for replica in range(512)]
    assert offsets[0] == 0
    # TensorFlow reduces a seed to 31 bits, JAX to 32.
    for modulus in (2**31 - 2, 2**32):
        reduced = sorted(offset % modulus for offset in offsets)
        gaps = [b - a for a, b in zip(reduced, reduced[1:])]
        assert min(gaps) > 1000


@pytest.mark.slow
@pytest.mark.skipif(not SEVERAL, reason="one device only")
def test_replicas_learn_what_one_device_learns(tmp_path):
    replicas.assert_equal_to_one_device(tmp_path, BACKEND, SEVERAL)


@pytest.mark.slow
@pytest.mark.skipif(not SEVERAL, reason="one device only")
def test_every_replica_draws_its_own_dropout(tmp_path):
    replicas.assert_own_dropout(tmp_path, BACKEND, SEVERAL[0][0])


@pytest.mark.skipif(BACKEND != "torch", reason="torch only")
def test_compiling_on_torch_needs_a_compiler(monkeypatch):
    asked = devices("none", jit_compile=True)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(errors.InputError, match="no-such-compiler, which is"):
        asked.open()
    monkeypatch.setenv("CXX", sys.executable)  # a program that there is
    assert asked.open() is strategy.ONE_DEVICE
