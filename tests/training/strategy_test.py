import itertools
import os
import sys

import keras
import numpy as np
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
    return strategy.Devices(strategy_name=name, **changes)


def test_devices_that_there_are_not():
    for name, changes, message in (
        ("none", {"num_replicas": 2}, "uses one device"),
        ("tpus", {}, "is not available on"),
    ):
        with pytest.raises(errors.InputError, match=message):
            devices(name, **changes).open()


def test_sizes_of_a_batch():
    found = strategy.Strategy()
    for count, sizes in ((1, (8, 2)), (3, (12, 2))):
        found.num_replicas = count
        found.check_batch(*sizes)
        found.check_share("evaluation_batch_size", sizes[0])
    for count, sizes, expected in (
        (1, (8, 3), "`batch_size` 8, .* `microbatch_size` 3"),
        (3, (8, None), "`batch_size` 8 .* 3 replicas: .* `num_replicas`"),
        (3, (12, 3), "`batch_size` 12, 4 on each of 3 replicas, .*size` 3"),
    ):
        found.num_replicas = count
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
    one = replicas.run(tmp_path / "one", BACKEND, "none", 1)
    for strategy_name, count in SEVERAL:
        path = tmp_path / f"{strategy_name}_{count}"
        several = replicas.run(path, BACKEND, strategy_name, count)
        found = {}
        for name in itertools.product(replicas.TASKS, replicas.QUANTITIES):
            ours, theirs = one["/".join(name)], several["/".join(name)]
            assert ours.shape == theirs.shape and np.isfinite(ours).all()
            # What is larger than 1, such as a sequence's score, by its size.
            differences = abs(ours - theirs) / np.maximum(1, abs(ours))
            found[name] = float(differences.max())
        print(BACKEND, strategy_name, count, found)
        assert max(found.values()) <= 1e-6
    for task in replicas.TASKS:
        # Every step is clipped, and each changes the weights.
        assert one[f"{task}/norms"].min() > 0.05
        assert len(set(one[f"{task}/losses"])) == replicas.NUM_STEPS


@pytest.mark.slow
@pytest.mark.skipif(not SEVERAL, reason="one device only")
def test_every_replica_draws_its_own_dropout(tmp_path):
    """Else two that read the same rows have the losses of one device."""
    share = replicas.BATCH_SIZE // 2
    for dropout in (0.0, 0.5):
        once, twice = (
            replicas.run(
                *(tmp_path / f"{dropout}_{name}", BACKEND, name, count),
                dropout=dropout,
                **options,
            )
            for name, count, options in (
                ("none", 1, {"batch_size": share}),
                (SEVERAL[0][0], 2, {"micro_batch_size": share, "double": True}),
            )
        )
        for task in replicas.TASKS:
            difference = abs(once[f"{task}/losses"] - twice[f"{task}/losses"])
            if dropout == 0.0:
                assert difference[0] < 1e-6
                continue
            assert difference[0] > 1e-3
            # One state for all in a checkpoint: that of one device.
            states = once[f"{task}/states"]
            np.testing.assert_array_equal(twice[f"{task}/states"], states)
            assert states.shape[1] == 2 and len(states) > 3


@pytest.mark.only_on("torch")
def test_compiling_on_torch_needs_a_compiler(monkeypatch):
    asked = devices("none", jit_compile=True)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(errors.InputError, match="no-such-compiler, which is"):
        asked.open()
    monkeypatch.setenv("CXX", sys.executable)  # a program that there is
    assert asked.open() is strategy.ONE_DEVICE


@pytest.mark.only_on("jax")
def test_more_devices_than_there_are(monkeypatch):
    import jax

    count = len(jax.devices()) + 1
    with pytest.raises(
        errors.InputError, match=f"`num_replicas` is {count}.*XLA_FLAGS"
    ):
        devices("data_parallel", num_replicas=count).open()
    # The environment asks for no devices: other tests count on one.
    assert "device_count" not in os.environ.get("XLA_FLAGS", "")
    place, fewer = keras.distribution, devices("data_parallel", num_replicas=1)
    monkeypatch.setattr(place, "list_devices", lambda: ["cpu:0", "cpu:1"])
    monkeypatch.setattr(place, "DataParallel", lambda devices: devices)
    assert strategy.DataParallel(fewer).distribution == ["cpu:0"]


@pytest.mark.only_on("jax")
def test_the_scope_is_suspended_for_a_single_device():
    found = devices("data_parallel", num_replicas=1).open()
    current = keras.distribution.distribution
    assert found.num_replicas == 1
    try:
        with found.scope():
            pass
        assert current() is found.distribution
        with found.single_device():
            assert current() is None
        assert current() is found.distribution
        # The next run in this process asks for one device.
        devices("none").open()
        assert current() is None
    finally:
        keras.distribution.set_distribution(None)
