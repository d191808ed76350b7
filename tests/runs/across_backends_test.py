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
from tests.reference import predictions_table
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
    """Stop a run on TensorFlow after `stop` steps, finish it on all.

    Returns:
        the step of its checkpoint, `{backend: its workdir}`.
    """
    first = make(directory, backend="tensorflow", **settings)
    begun = directory / "begun"
    status, output, _ = first.send(begun, signal.SIGTERM, step=stop)
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
    return step, workdirs


def steps_of(workdir, *, after):
    """Return `[N, 2]`: loss and norm of the gradient of each later step."""
    rows = [
        [line["loss"], line["gradient_norm"]]
        for line in kill_run.lines(workdir)
        if "gradient_norm" in line and line["step"] > after
    ]
    return np.array(rows)


def assert_same(step, workdirs, num_steps):
    expected = steps_of(workdirs["tensorflow"], after=step)
    assert len(expected) == num_steps - step > 5
    # Another order of the batches would be seen.
    differences = np.abs(np.diff(np.sort(expected[:, 0])))
    assert np.median(differences) > 1e-3
    for backend in ("jax", "torch"):
        found = steps_of(workdirs[backend], after=step)
        np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    return continued(
        kill_run.Experiment,
        tmp_path_factory.mktemp("pretrained"),
        stop=6,
        **PRETRAINING,
    )


def test_pretraining(pretrained):
    step, workdirs = pretrained
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


def test_each_step_on_another_backend(pretrained, tmp_path):
    """Pretrained on torch, fine-tuned on JAX, evaluated on TensorFlow too."""
    _, workdirs = pretrained
    preset = str(workdirs["torch"])
    fine_tuning = tiny_task.Experiment(tmp_path, backend="jax", PRESET=preset)
    fine_tuning.must_finish(tmp_path / "cola")
    learned = results.read(tmp_path / "cola")
    assert learned["backend"] == "jax"
    tables, measured = [], []
    for backend in BACKENDS:
        run = kill_run.Experiment(tmp_path, backend=backend)
        for name, start in (
            ("evaluate", tmp_path / "cola"),
            ("zero_shot/cola", preset),
        ):
            run.gin_files = (f"gin/{name}.gin",)
            run.settings = {
                "PRESET": str(start),
                "DATA_DIR": str(tmp_path / "data"),
            }
            run.must_finish(tmp_path / f"{name[:8]}_{backend}")
        found = results.read(tmp_path / f"evaluate_{backend}")
        assert found["backend"] == backend
        assert found["metrics"] == learned["metrics"]
        tables.append(
            probabilities(tmp_path / f"evaluate_{backend}/predictions.tsv")
        )
        found = results.read(tmp_path / f"zero_sho_{backend}")["metrics"]
        assert found == pytest.approx(
            measured and measured[0] or found, abs=1e-4
        )
        measured.append(found)
    assert tables[0].shape == (40, 2)
    # Little was learned; what differs between examples is far above what may
    # differ between backends.
    assert tables[0][:, 1].std() > 2e-4
    for table in tables[1:]:
        np.testing.assert_allclose(table, tables[0], rtol=0, atol=1e-5)


def probabilities(path):
    """Return `[N, 2]`, in the order of the examples."""
    rows = sorted(predictions_table.read(path), key=lambda row: row["row"])
    return np.array([list(row["probabilities"].values()) for row in rows])
