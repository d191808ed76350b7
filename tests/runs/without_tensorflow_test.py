"""Pretraining to report where there is no TensorFlow, in its own processes."""

import functools
import os

import pytest

from gpt1_keras import results
from tests.reference import processes
from tests.reference.processes import ROOT

HIDING = ROOT / "tests" / "reference" / "no_tensorflow"
PRETRAINING = {
    **{"VOCABULARY_SIZE": 400, "NUM_LAYERS": 1, "HIDDEN_DIM": 32},
    **{"INTERMEDIATE_DIM": 64, "NUM_POSITIONS": 64, "SEQUENCE_LENGTH": 32},
    **{"BATCH_SIZE": 8, "MICROBATCH_SIZE": 4, "NUM_STEPS": 30},
    **{"WARMUP_STEPS": 3, "ZERO_SHOT_TASKS": ("sst2",)},
    "fit.Intervals.sample_steps": 20,
    "held_out.Evaluation.final_tokens": 300,
    "held_out.Evaluation.stride": 16,
    "held_out.Evaluation.tokens": 300,
    "pretrain.Sampling.num_tokens": 12,
    "sources.BenchmarkFiles.sample_examples": 64,
    "sources.Corpus.sample_words": 20000,
    "zero_shot.Scoring.num_examples": 8,
}
EXAMPLES = {"sources.BenchmarkFiles.sample_examples": 64}
# What README.md does with presets in Python.
MODELS = """
import sys
import keras
import numpy as np
from gpt1_keras import models

language_model, fine_tuned = sys.argv[1:]
model = models.GPT1CausalLM.from_preset(language_model)
print(model.generate("it was", max_length=12))
model = models.GPT1TaskModel.from_preset(fine_tuned)
texts, labels = ["a fine film", "dull", "the same", "a bore"], [1, 0, 1, 0]
inputs = model.preprocessor(texts)
expected = model.predict(inputs, verbose=0)
found = model.predict(texts, verbose=0)
np.testing.assert_allclose(found, expected, atol=1e-5)
model.compile(
    optimizer=keras.optimizers.Adam(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(texts, np.array(labels), epochs=3, batch_size=2, verbose=0)
changed = model.predict(texts, verbose=0)
assert np.abs(changed - found).max() > 1e-3
"""


@pytest.mark.slow
@pytest.mark.backends
@pytest.mark.only_on("tensorflow")  # Once is enough.
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_every_run(tmp_path, backend):
    pytest.importorskip(backend)
    call = functools.partial(
        processes.python,
        KERAS_BACKEND=backend,
        PYTHONPATH=f"{HIDING}{os.pathsep}{ROOT}",
        GPT1_KERAS_CACHE=str(tmp_path / "cache"),
    )

    def run(name, *gin_files, **settings):
        paths = [f"gin/{file}.gin" for file in gin_files]
        workdir = None if name == "generate" else tmp_path / name
        command = processes.arguments(paths, workdir, **settings)
        done = call("-m", "gpt1_keras.main", *command)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        result = results.read(tmp_path / name)
        if result is None:
            return done.stdout
        assert result["backend"] == backend and result["num_examples"] > 0
        return result

    assert "ModuleNotFoundError" in call("-c", "import tensorflow").stderr
    pretrained = {"PRESET": str(tmp_path / "pretrain")}
    fine_tuned = {"PRESET": str(tmp_path / "sst2")}
    run(
        *("pretrain", "pretrain", "model/tiny", "data/sample"),
        "zero_shot/while_pretraining",
        **PRETRAINING,
    )
    lines = (tmp_path / "pretrain" / "metrics.jsonl").read_text()
    assert '"split": "probes"' in lines
    settings = pretrained | EXAMPLES
    sst2 = ("sst2", "finetune/sst2", "finetune/tiny")
    learned = run(*sst2, **settings, NUM_EPOCHS=2, DTYPE="float32")
    found = run("evaluate", "evaluate", **fine_tuned | EXAMPLES)
    assert found["metrics"] == learned["metrics"]
    run("zero_shot", "zero_shot/cola", **settings, NUM_EXAMPLES=16)
    corpus = str(next(tmp_path.glob("cache/sample_*")))
    scored = {"CORPUS": corpus, "NUM_TOKENS": 100, "EVALUATION_STRIDE": 32}
    run("perplexity", "perplexity", **pretrained, **scored)
    text = run("generate", "generate", **pretrained, NUM_TOKENS=12)
    assert text.startswith("it was")
    presets = (str(tmp_path / name / "preset") for name in ("pretrain", "sst2"))
    done = call("-c", MODELS, *presets)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("it was")
    run("report", "report", RESULTS=str(tmp_path))
    page = tmp_path / "report" / "report.html"
    assert page.stat().st_size > 1000
