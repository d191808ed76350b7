"""Every backend resumes what another one started, with the same losses.

A run is stopped on TensorFlow and resumed on each backend. Without dropout
the losses of the steps that follow agree, and each is of another batch, so
the order of data is the same on all.
"""

import shutil
import signal

import keras
import numpy as np
import pytest

from gpt1_keras import results
from tests.reference import kill_run
from tests.reference import tiny_task

BACKENDS = ("tensorflow", "jax", "torch")
PRETRAINING = {"DROPOUT": 0.0, "fit.Intervals.sample_steps": 0}
FINE_TUNING = {"DROPOUT": 0.0, "finetune.FineTuning.classifier_dropout": 0.0}

pytestmark = [pytest.mark.slow, pytest.mark.backends]


@pytest.fixture(scope="module", autouse=True)
def every_backend():
    for name in ("jax", "torch"):
        pytest.importorskip(name)
    if keras.config.backend() != "tensorflow":
        pytest.skip("once is enough")


def continued(make, directory, *, stop, **settings):
    """Stop a run on TensorFlow and finish it on all backends.

    Returns the step of its checkpoint and `{backend: its workdir}`.
    """
    first = make(directory, backend="tensorflow", **settings)
    begun = directory / "begun"
    status, output = first.send(begun, signal.SIGTERM, step=stop)
    assert status == 3, output
    step, _ = kill_run.last_checkpoint(begun)
    workdirs = {}
    for backend in BACKENDS:
        workdirs[backend] = directory / backend
        shutil.copytree(begun, workdirs[backend])
        make(directory, backend=backend, **settings).must_finish(
            workdirs[backend]
        )
        assert results.read(workdirs[backend])["backend"] == backend
    assert any((directory / "cache/jax").iterdir())  # compiled programs
    return step, workdirs


def steps_of(workdir, *, after):
    """Return `[N, 2]`: loss and norm of the gradient of each later step."""
    lines = [x for x in kill_run.lines(workdir) if "gradient_norm" in x]
    return np.array(
        [[x["loss"], x["gradient_norm"]] for x in lines if x["step"] > after]
    )


def assert_same(step, workdirs, num_steps):
    expected = steps_of(workdirs["tensorflow"], after=step)
    assert len(expected) == num_steps - step > 5
    # Another order of the batches would be seen.
    differences = np.abs(np.diff(np.sort(expected[:, 0])))
    assert np.median(differences) > 1e-3
    for backend in ("jax", "torch"):
        found = steps_of(workdirs[backend], after=step)
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_pretraining(tmp_path):
    step, workdirs = continued(
        kill_run.Experiment, tmp_path, stop=6, **PRETRAINING
    )
    assert_same(step, workdirs, kill_run.NUM_STEPS)
    found = [results.read(workdirs[name])["metrics"] for name in BACKENDS]
    for metrics in found[1:]:
        assert metrics["tokens"] == found[0]["tokens"]
        assert metrics["loss"] == pytest.approx(found[0]["loss"], rel=1e-4)


def test_fine_tuning(tmp_path):
    step, workdirs = continued(
        tiny_task.Experiment, tmp_path, stop=30, **FINE_TUNING
    )
    assert_same(step, workdirs, tiny_task.NUM_STEPS)
    found = [results.read(workdirs[name])["metrics"] for name in BACKENDS]
    assert found[0] == found[1] == found[2]
