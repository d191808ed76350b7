"""Every run that a machine without TensorFlow can do, in small.

Pretrains, fine-tunes, evaluates, probes, measures perplexity, generates,
reports on the generated sample data and uses the presets in Python.
TensorFlow is hidden from the processes.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HIDING = pathlib.Path(__file__).resolve().parent / "no_tensorflow"
TIME_LIMIT = 600.0  # seconds for one process
PRETRAIN_STEPS = 30

SAMPLE = {"sources.Corpus.sample_words": 20000}
SMALL = {
    "VOCABULARY_SIZE": 400,
    "NUM_LAYERS": 1,
    "HIDDEN_DIM": 32,
    "INTERMEDIATE_DIM": 64,
    "NUM_POSITIONS": 64,
    "SEQUENCE_LENGTH": 32,
    "BATCH_SIZE": 8,
    "MICROBATCH_SIZE": 4,
    "NUM_STEPS": PRETRAIN_STEPS,
    "WARMUP_STEPS": 3,
    "held_out.Evaluation.stride": 16,
    "held_out.Evaluation.tokens": 300,
    "held_out.Evaluation.final_tokens": 300,
    "fit.Intervals.sample_steps": 20,
    "PROBES": ("sst2",),
    "zero_shot.Scoring.num_examples": 8,
    "pretrain.Sampling.num_tokens": 12,
}
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
EXAMPLES = {"SAMPLE_EXAMPLES": 64, "EVALUATION_BATCH_SIZE": 16}


def environment(backend, *, hide=True):
    """Return the environment of a process that sees no TensorFlow.

    Args:
        backend: str, of Keras.
        hide: bool. False: the interpreter has none.
    """
    found = os.environ | {"KERAS_BACKEND": backend}
    path = [str(HIDING)] if hide else []
    if "PYTHONPATH" in os.environ:
        path.append(os.environ["PYTHONPATH"])
    return found | {"PYTHONPATH": os.pathsep.join(path)}


class Chain:
    """One run after the other, each in its own process.

    Args:
        directory: path for the cache and the workdirs.
        backend: str, of Keras.
        python: path of an interpreter without TensorFlow; None: this one,
            from which it is hidden.
    """

    def __init__(self, directory, *, backend, python=None):
        self.directory = pathlib.Path(directory)
        self.python = python or sys.executable
        cache = {"GPT1_KERAS_CACHE": str(self.directory / "cache")}
        self.environment = environment(backend, hide=not python) | cache

    def check(self):
        """Raise RuntimeError where the processes do have TensorFlow."""
        done = self._call("-c", "import tensorflow")
        if "No module named 'tensorflow'" not in done.stderr:
            raise RuntimeError(f"{self.python} has TensorFlow")

    def run(self, name, *gin_files, workdir=True, **settings):
        """Run `gpt1_keras.main`; return its standard output."""
        command = ["-m", "gpt1_keras.main"]
        for file in gin_files:
            command += ["--gin", f"gin/{file}.gin"]
        for macro, value in settings.items():
            command += ["--set", f"{macro} = {value!r}"]
        if workdir:
            command += ["--workdir", str(self.directory / name)]
        done = self._call(*command)
        if done.returncode:
            raise RuntimeError(f"{name}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def models(self, *names):
        """Use the presets of two runs in Python; return what is printed."""
        presets = [str(self.directory / name / "preset") for name in names]
        done = self._call("-c", MODELS, *presets)
        if done.returncode:
            raise RuntimeError(f"models: {done.stderr}")
        return done.stdout

    def result(self, name):
        return json.loads((self.directory / name / "result.json").read_text())

    def steps(self):
        """Return `{name: function}` of all runs, in their order."""
        pretrained = {"PRESET": str(self.directory / "pretrain")}
        fine_tuned = {"PRESET": str(self.directory / "sst2")}
        return {
            "pretrain": lambda: self.run(
                *("pretrain", "pretrain", "model/tiny", "data/sample"),
                "zero_shot/while_pretraining",
                **SAMPLE | SMALL,
                **{"sources.BenchmarkFiles.sample_examples": 64},
            ),
            "sst2": lambda: self.run(
                *("sst2", "finetune/sst2", "finetune/tiny"),
                **pretrained | EXAMPLES,
                NUM_EPOCHS=2,
            ),
            "evaluate": lambda: self.run(
                "evaluate", "evaluate", **fine_tuned | EXAMPLES
            ),
            "zero_shot": lambda: self.run(
                *("zero_shot", "zero_shot/cola"),
                **pretrained | EXAMPLES,
                NUM_EXAMPLES=16,
            ),
            "perplexity": lambda: self.run(
                *("perplexity", "perplexity"),
                **pretrained,
                CORPUS=str(next(self.directory.glob("cache/sample_*"))),
                NUM_TOKENS=100,
                EVALUATION_STRIDE=32,
            ),
            "generate": lambda: self.run(
                *("generate", "generate"),
                workdir=False,
                **pretrained,
                NUM_TOKENS=12,
            ),
            "models": lambda: self.models("pretrain", "sst2"),
            "report": lambda: self.run(
                "report", "report", RESULTS=str(self.directory)
            ),
        }

    def _call(self, *arguments):
        return subprocess.run(
            [self.python, *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
