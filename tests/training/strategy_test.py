import sys

import keras
import pytest

from gpt1_keras import errors
from gpt1_keras.training import strategy


def devices(name, **changes):
    return strategy.Devices(
        **{
            "strategy_name": name,
            "num_replicas": None,
            "tpu": "",
            "jit_compile": False,
        }
        | changes
    )


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


@pytest.mark.skipif(keras.config.backend() != "torch", reason="torch only")
def test_compiling_on_torch_needs_a_compiler(monkeypatch):
    asked = devices("none", jit_compile=True)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(errors.InputError, match="no-such-compiler, which is"):
        asked.open()
    monkeypatch.setenv("CXX", sys.executable)  # a program that there is
    assert asked.open() is strategy.ONE_DEVICE
