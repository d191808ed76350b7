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


def test_one_device():
    found = devices("none").open()
    assert found is strategy.ONE_DEVICE
    assert (found.num_replicas, found.num_workers) == (1, 1)
    assert found.is_chief
    assert found.workdir("out/x") == "out/x"
    assert found.share_state(7, None) == 7
    found.check_batch(5, None)
    assert devices("none", num_replicas=1, jit_compile=True).open() is found


@pytest.mark.parametrize("name", ["none", "mirrored", "data_parallel"])
@pytest.mark.parametrize("count", [0, -1, 1.5, "all"])
def test_number_of_replicas_that_is_none(name, count):
    if name not in ("none", *strategy.STRATEGIES[keras.config.backend()]):
        pytest.skip("not on this backend")
    with pytest.raises(errors.InputError, match="`num_replicas` is"):
        devices(name, num_replicas=count).open()


def test_one_device_is_not_two():
    with pytest.raises(errors.InputError, match="'none' is one device"):
        devices("none", num_replicas=2).open()


FOREIGN = {
    "tensorflow": ["data_parallel", "mirorred"],
    "jax": ["mirrored", "multi_worker", "tpu"],
    "torch": ["mirrored", "data_parallel"],
}


@pytest.mark.parametrize("name", FOREIGN[keras.config.backend()])
def test_strategy_of_another_backend(name):
    backend = keras.config.backend()
    with pytest.raises(errors.InputError) as found:
        devices(name).open()
    message = str(found.value)
    assert f"`strategy_name` {name!r}" in message and backend in message
    assert "'none'" in message and "\n" not in message
    for known in strategy.STRATEGIES[backend]:
        assert repr(known) in message


@pytest.mark.parametrize(
    "sizes, expected",
    [
        ((8, 3), "`batch_size` 8 .* `microbatch_size` 3"),
        ((8, 16), "`batch_size` 8 .* `microbatch_size` 16"),
    ],
)
def test_sizes_that_do_not_divide(sizes, expected):
    with pytest.raises(errors.InputError, match=expected):
        strategy.ONE_DEVICE.check_batch(*sizes)


@pytest.mark.parametrize("sizes", [(8, None), (8, 8), (8, 2), (1, 1)])
def test_sizes_that_divide(sizes):
    strategy.ONE_DEVICE.check_batch(*sizes)


@pytest.mark.parametrize(
    "sizes, expected",
    [
        ((8, None), "`batch_size` 8 .* 3 replicas: .* `num_replicas`"),
        ((12, 3), "`batch_size` 12, 4 on each of 3 replicas, .*size` 3"),
        ((12, 12), "`microbatch_size` 12"),
    ],
)
def test_sizes_that_replicas_cannot_share(sizes, expected):
    found = strategy.Strategy()
    found.num_replicas = 3
    found.check_batch(12, 2)
    found.check_batch(12, None)
    with pytest.raises(errors.InputError, match=expected):
        found.check_batch(*sizes)


def test_evaluation_that_replicas_cannot_share():
    found = strategy.Strategy()
    found.num_replicas = 3
    found.check_share("evaluation_batch_size", 9)
    with pytest.raises(errors.InputError, match="`evaluation_batch_size` 8 is"):
        found.check_share("evaluation_batch_size", 8)


def test_seeds_of_replicas_are_far_apart():
    offsets = [strategy.seed_offset(replica) for replica in range(512)]
    assert offsets[0] == 0
    # TensorFlow reduces a seed to 31 bits, JAX to 32.
    for modulus in (2**31 - 2, 2**32):
        reduced = sorted(offset % modulus for offset in offsets)
        gaps = [b - a for a, b in zip(reduced, reduced[1:])]
        assert min(gaps) > 1000
