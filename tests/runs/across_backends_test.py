"""Every backend resumes what another one started, with the same losses.

Without dropout the losses of the steps that follow agree, and each is of
another batch, so the order of data is the same on all.
"""

import functools
import shutil
import signal

import numpy as np
import pytest

from gpt1_keras import results
from tests.reference import kill_run
from tests.reference import tiny_task

BACKENDS = ("tensorflow", "jax", "torch")
SETTINGS = {
    kill_run: {"DROPOUT": 0.0, "fit.Intervals.sample_steps": 0},
    tiny_task: {"DROPOUT": 0.0, "finetune.FineTuning.classifier_dropout": 0.0},
}

pytestmark = [pytest.mark.slow, pytest.mark.backends]
pytestmark.append(pytest.mark.only_on("tensorflow"))  # Once is enough.


def steps_of(workdir, *, after):
    """Return `[N, 2]`: loss and norm of the gradient of each later step."""
    lines = [x for x in kill_run.lines(workdir) if "gradient_norm" in x]
    return np.array(
        [[x["loss"], x["gradient_norm"]] for x in lines if x["step"] > after]
    )


@pytest.mark.parametrize("of, stop", [(kill_run, 6), (tiny_task, 30)])
def test_pretraining_and_fine_tuning(tmp_path, monkeypatch, of, stop):
    # By default, JAX keeps only what takes a second to compile.
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    for name in ("jax", "torch"):
        pytest.importorskip(name)
    make = functools.partial(of.Experiment, tmp_path, **SETTINGS[of])
    begun = tmp_path / "begun"
    first = make(backend="tensorflow")
    status, output = first.send(begun, signal.SIGTERM, step=stop)
    assert status == 3, output
    step, _ = kill_run.last_checkpoint(begun)
    workdirs = {backend: tmp_path / backend for backend in BACKENDS}
    for backend, workdir in workdirs.items():
        shutil.copytree(begun, workdir)
        make(backend=backend).must_finish(workdir)
        assert results.read(workdir)["backend"] == backend
    assert any((tmp_path / "cache/jax").iterdir())  # compiled programs
    expected = steps_of(workdirs["tensorflow"], after=step)
    assert len(expected) == of.NUM_STEPS - step > 5
    # Another order of the batches would be seen.
    differences = np.abs(np.diff(np.sort(expected[:, 0])))
    assert np.median(differences) > 1e-3
    for backend in ("jax", "torch"):
        found = steps_of(workdirs[backend], after=step)
        np.testing.assert_allclose(found, expected, rtol=1e-3)
    found = [results.read(workdirs[name])["metrics"] for name in BACKENDS]
    names = found[0].keys() & {"loss", "tokens", "matthews", "accuracy"}
    assert len(names) == 2
    for metrics in found[1:]:
        for name in names:
            assert metrics[name] == pytest.approx(found[0][name], rel=1e-4)
