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
    assert devices("none", num_replicas=1).open() is found


def test_xla_for_whole_steps_on_a_cpu():
    asked = devices("none", jit_compile=True)
    if keras.config.backend() != "tensorflow":
        assert asked.open() is strategy.ONE_DEVICE
        return
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        pytest.skip("for machines without a GPU")
    with pytest.raises(errors.InputError, match="no GPU.*slower"):
        asked.open()


FOREIGN = {
    "tensorflow": ["data_parallel", "mirorred"],
    "jax": ["mirrored", "multi_worker", "tpu"],
    "torch": ["mirrored", "data_parallel"],
}
BACKEND = keras.config.backend()


@pytest.mark.parametrize(
    "name, count, expected",
    [
        *(
            (name, count, "`num_replicas` is")
            for name in ("none", *strategy.STRATEGIES[BACKEND])
            for count in (0, 1.5, "all")
        ),
        ("none", 2, "'none' uses one device: give `num_replicas` = None"),
        *(
            (name, None, f"`strategy_name` {name!r} .* {BACKEND} .*'none'")
            for name in FOREIGN[BACKEND]
        ),
    ],
)
def test_devices_that_there_are_not(name, count, expected):
    with pytest.raises(errors.InputError, match=expected) as raised:
        devices(name, num_replicas=count).open()
    message = str(raised.value)
    assert "\n" not in message
    if name in FOREIGN[BACKEND] or count == 2:
        for known in strategy.STRATEGIES[BACKEND]:
            assert repr(known) in message


@pytest.mark.parametrize(
    "replicas, sizes, expected",
    [
        (1, (8, 3), "`batch_size` 8 .* `microbatch_size` 3"),
        (1, (8, 16), "`batch_size` 8 .* `microbatch_size` 16"),
        (3, (8, None), "`batch_size` 8 .* 3 replicas: .* `num_replicas`"),
        (3, (12, 3), "`batch_size` 12, 4 on each of 3 replicas, .*size` 3"),
        (3, (12, 12), "`microbatch_size` 12"),
        (1, (8, None), None),
        (1, (8, 2), None),
        (1, (8, 8), None),
        (3, (12, None), None),
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
