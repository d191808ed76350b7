"""Pretraining to report where there is no TensorFlow, in its own processes."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys

import keras
import pytest

from tests.reference import without_tensorflow

FILE = "requirements-no-tensorflow.txt"


@pytest.fixture(autouse=True)
def once():
    if keras.config.backend() != "tensorflow":
        pytest.skip("once is enough")


def assert_all_runs(chain):
    chain.check()
    printed = {name: step() for name, step in chain.steps().items()}
    for name in ("generate", "models"):
        assert printed[name].startswith("it was")
    for name in ("pretrain", "sst2", "evaluate", "zero_shot", "perplexity"):
        result = chain.result(name)
        assert result["backend"] == chain.environment["KERAS_BACKEND"]
        assert result["num_examples"] > 0
    learned, found = map(chain.result, ("sst2", "evaluate"))
    assert found["metrics"] == learned["metrics"]
    lines = (chain.directory / "pretrain" / "metrics.jsonl").read_text()
    assert '"split": "probes"' in lines
    report = chain.directory / "report"
    assert (report / "report.html").stat().st_size > 1000
    return learned


def test_it_is_hidden_from_processes():
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("it is not there")
    program = "import importlib.util as u; print(u.find_spec('tensorflow'))"
    for hide in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=without_tensorflow.environment("jax", hide=hide),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert (done.stdout == "None\n") == hide


@pytest.mark.slow
@pytest.mark.backends
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_every_run(tmp_path, backend):
    pytest.importorskip(backend)
    assert_all_runs(without_tensorflow.Chain(tmp_path, backend=backend))


def commands(text):
    """Return the `pip` commands in the comment at the file's top."""
    lines = re.findall(r"^#   (pip install [^#\n]+)", text, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.mark.slow
@pytest.mark.backends
def test_an_environment_made_as_its_file_says(tmp_path, request):
    """A new one, with JAX: minutes, and a gigabyte that is then removed."""
    root = request.config.rootpath
    folder = tmp_path / "environment"
    request.addfinalizer(lambda: shutil.rmtree(folder, ignore_errors=True))
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    found = commands((root / FILE).read_text(encoding="utf-8"))
    assert len(found) == 3
    for command in found:
        done = subprocess.run(
            [folder / "bin" / "python", "-m", *command],
            cwd=root,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    python = str(folder / "bin" / "python")
    assert_all_runs(
        without_tensorflow.Chain(tmp_path, backend="jax", python=python)
    )
