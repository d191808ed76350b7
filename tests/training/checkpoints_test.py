import json
import logging
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from gpt1_keras import errors
from gpt1_keras.training import checkpoints as checkpoints_lib
from tests.reference import tiny_learner

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def trained(num_updates, *, seed=0, num_layers=1):
    """Return a learner with dropout after some updates."""
    learner = tiny_learner.language_model(
        seed=seed, dropout=0.2, num_layers=num_layers
    )
    train(learner, num_updates)
    return learner


def train(learner, num_updates):
    batch = tiny_learner.Batches()(0)
    joined = {
        key: np.concatenate([value] * num_updates)
        for key, value in batch.items()
    }
    tiny_learner.update_many(learner, joined, batch_size=4)


def state(learner):
    """Every variable as an array, those of the optimizer too."""
    variables = learner.variables + learner.optimizer.variables
    return [ops.convert_to_numpy(v).copy() for v in variables]


def is_equal(first, second):
    return all(
        (a == b).all() and a.shape == b.shape for a, b in zip(first, second)
    )


@pytest.fixture(scope="module")
def learner():
    """One that has made two updates; tests do not train it."""
    return trained(2)


@pytest.fixture
def checkpoints(tmp_path):
    return checkpoints_lib.Checkpoints(tmp_path / "checkpoints", keep=2)


def files_of(checkpoints, step):
    folder = checkpoints.directory / f"{step:08d}"
    return folder / "state.safetensors", folder / "checkpoint.json"


def test_everything_comes_back_and_training_goes_on_alike(checkpoints):
    first = trained(2)
    checkpoints.save(2, first)
    second = trained(1, seed=1)
    assert not is_equal(state(first), state(second))
    assert checkpoints.restore(second) == 2
    assert is_equal(state(first), state(second))
    assert int(second.optimizer.iterations) == 2
    for learner in (first, second):
        train(learner, 2)
    assert is_equal(state(first), state(second))


def test_seed_generators_and_moments_are_in_it(checkpoints, learner):
    checkpoints.save(2, learner)
    index = json.loads(files_of(checkpoints, 2)[1].read_text())
    keys = index["variables"]
    assert index["step"] == 2
    # Two table dropouts, one on the probabilities, two on the residuals.
    assert sum("seed_generator" in key for key in keys) == 5
    num_weights = len(learner.trainable_variables)
    assert sum("momentum" in key for key in keys) == num_weights
    assert sum("velocity" in key for key in keys) == num_weights
    assert sum("iteration" in key for key in keys) == 1


def test_no_checkpoint_yet(checkpoints, learner):
    before = state(learner)
    assert checkpoints.steps() == []
    assert checkpoints.restore(learner) == 0
    assert is_equal(before, state(learner))


def test_the_newest_stay(checkpoints, learner):
    for step in (1, 5, 12, 100):
        checkpoints.save(step, learner)
    assert checkpoints.steps() == [12, 100]


def test_a_step_that_is_saved_is_left_alone(checkpoints, learner):
    checkpoints.save(3, learner)
    path, _ = files_of(checkpoints, 3)
    before = path.stat().st_mtime_ns
    checkpoints.save(3, learner)
    assert path.stat().st_mtime_ns == before


def tear(state_file, index_file):
    state_file.write_bytes(state_file.read_bytes()[:-7])


def flip(state_file, index_file):
    content = bytearray(state_file.read_bytes())
    content[-3] ^= 1
    state_file.write_bytes(content)


def lose_state(state_file, index_file):
    state_file.unlink()


def lose_index(state_file, index_file):
    index_file.unlink()


def tear_index(state_file, index_file):
    index_file.write_text(index_file.read_text()[:20])


def empty_index(state_file, index_file):
    index_file.write_text("{}")


DAMAGES = [tear, flip, lose_state, lose_index, tear_index, empty_index]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_newest_falls_back_and_says_so(
    checkpoints, learner, damage, caplog
):
    checkpoints.save(3, learner)
    checkpoints.save(6, learner)
    damage(*files_of(checkpoints, 6))
    with caplog.at_level(logging.WARNING, logger="absl"):
        assert checkpoints.restore(learner) == 3
    (record,) = caplog.records
    assert str(checkpoints.directory / "00000006") in record.getMessage()
    # The run writes step 6 again.
    assert checkpoints.steps() == [3]


def test_nothing_left_to_read(checkpoints, learner):
    checkpoints.save(3, learner)
    flip(*files_of(checkpoints, 3))
    with pytest.raises(errors.InputError, match="no checkpoint can be read"):
        checkpoints.restore(learner)


def test_half_written_checkpoint_is_no_checkpoint(checkpoints, learner):
    checkpoints.save(3, learner)
    leftover = checkpoints.directory / ".00000006.123.tmp"
    leftover.mkdir()
    (leftover / "state.safetensors").write_bytes(b"half")
    assert checkpoints.steps() == [3]
    assert checkpoints.restore(learner) == 3
    checkpoints.save(6, learner)
    assert not leftover.exists()
    assert {p.name for p in checkpoints.directory.iterdir()} == {
        "00000003",
        "00000006",
    }


def test_it_appears_in_one_rename(checkpoints, learner, monkeypatch):
    """Before the rename no folder has the final name, after it all is in."""
    seen = []
    rename = os.replace

    def watch(source, target):
        if pathlib.Path(target).parent == checkpoints.directory:
            seen.append(checkpoints.steps())
            rename(source, target)
            seen.append([path.exists() for path in files_of(checkpoints, 4)])
        else:
            rename(source, target)

    monkeypatch.setattr(os, "replace", watch)
    checkpoints.save(4, learner)
    assert seen == [[], [True, True]]


def test_checkpoint_of_another_network(checkpoints, learner):
    checkpoints.save(3, learner)
    deeper = trained(1, num_layers=2)
    before = state(deeper)
    with pytest.raises(errors.InputError, match="another model's variables"):
        checkpoints.restore(deeper)
    assert is_equal(before, state(deeper))


def test_checkpoint_of_another_width(checkpoints, learner, monkeypatch):
    checkpoints.save(3, learner)
    monkeypatch.setattr(tiny_learner, "VOCABULARY_SIZE", 12)
    wider = tiny_learner.language_model(dropout=0.2)
    with pytest.raises(errors.InputError, match="shape .11, 8.*needs .12, 8"):
        checkpoints.restore(wider)


WRITE = """
from gpt1_keras.training import checkpoints
from tests.reference import tiny_learner
import sys
learner = tiny_learner.language_model(seed=5, dropout=0.2)
tiny_learner.update(learner, tiny_learner.Batches()(0))
checkpoints.Checkpoints(sys.argv[1], keep=2).save(1, learner)
"""
READ = """
from gpt1_keras.training import checkpoints
from tests.reference import tiny_learner
import sys
for directory in sys.argv[1:]:
    learner = tiny_learner.language_model(seed=6, dropout=0.2)
    assert checkpoints.Checkpoints(directory, keep=2).restore(learner) == 1
    batch = tiny_learner.Batches()(3)
    scores = learner.predict(batch, batch_size=4, verbose=0)
    print(float(scores["log_probability"].sum()))
    tiny_learner.update(learner, batch)
"""


def run_on(backend, program, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    return [float(line) for line in result.stdout.split()]


@pytest.mark.slow
@pytest.mark.backends
def test_every_backend_reads_what_every_backend_wrote(tmp_path):
    pytest.importorskip("jax")
    pytest.importorskip("torch")
    if keras.config.backend() != "tensorflow":
        pytest.skip("once is enough")
    backends = ("tensorflow", "jax", "torch")
    folders = [tmp_path / backend for backend in backends]
    for backend, folder in zip(backends, folders):
        run_on(backend, WRITE, folder)
    found = [run_on(backend, READ, *folders) for backend in backends]
    assert np.isfinite(found).all() and len(set(found[0])) == 3
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-5)
