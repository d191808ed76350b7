"""Pretraining to report where there is no TensorFlow, in its own processes."""

import keras
import pytest

from tests.reference import without_tensorflow


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


@pytest.mark.slow
@pytest.mark.backends
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_every_run(tmp_path, backend):
    pytest.importorskip(backend)
    assert_all_runs(without_tensorflow.Chain(tmp_path, backend=backend))
