import itertools
import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from gpt1_keras.data import batches
from gpt1_keras.data import loaders
from tests.reference import counting_books
from tests.reference import without_tensorflow

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What the loader and fit see on a machine without TensorFlow.
WITHOUT_TENSORFLOW = """
import json, sys

import keras
from gpt1_keras.data import loaders
from tests.data import loaders_test

make = loaders_test.training()
seen = []

class Recorder:
    def __call__(self, step):
        seen.append(step)
        batch = make(step)
        return batch["token_weights"][:, 0], batch["token_ids"][:, 0, :1] * 1.0

loaded = loaders.load(make, first_step=17, num_steps=5)
ids = [loaded[i]["token_ids"].tolist() for i in range(len(loaded))]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
endless = loaders.load(Recorder(), first_step=17, num_steps=None)
model.fit(endless, steps_per_epoch=4, epochs=2, verbose=0)
found = "tensorflow" in sys.modules
print(json.dumps([keras.backend.backend(), found, ids, seen]))
"""


def training():
    books = counting_books.CountingBooks([50, 90])
    return batches.TrainingBatches(
        books, batch_size=3, sequence_length=8, seed=5
    )


def as_list(loaded, count=None):
    if isinstance(loaded, loaders.BatchSequence):
        count = len(loaded) if count is None else count
        return [loaded[i] for i in range(count)]
    return list(itertools.islice(loaded.as_numpy_iterator(), count))


@pytest.mark.parametrize("loader", ["load", "BatchSequence", "dataset"])
def test_yields_the_batches_of_the_steps(loader):
    if loader == "dataset":
        pytest.importorskip("tensorflow")
    load = getattr(loaders, loader)
    make = training()
    found = as_list(load(make, first_step=17, num_steps=20))
    assert len(found) == 20
    for step, batch in enumerate(found, start=17):
        np.testing.assert_equal(batch, make(step))
    endless = as_list(load(make, first_step=3, num_steps=None), 30)
    np.testing.assert_equal(endless[-1], make(32))
    scored = batches.HeldOutBatches(
        counting_books.CountingBooks([20, 7]),
        batch_size=4,
        sequence_length=8,
        stride=4,
    )
    found = as_list(load(scored, first_step=0, num_steps=len(scored)))
    assert sum(batch["token_weights"].sum() for batch in found) == 25


def test_form_of_each_loader():
    sequence = loaders.BatchSequence(training(), first_step=17, num_steps=5)
    assert len(sequence) == sequence.num_batches == 5
    with pytest.raises(IndexError):
        sequence[5]
    loaded = loaders.load(training(), first_step=0, num_steps=1)
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        assert loaded.element_spec == {
            "token_ids": tf.TensorSpec([3, 1, 8], tf.int32),
            "token_weights": tf.TensorSpec([3, 1, 8], tf.float32),
            "extract_position": tf.TensorSpec([3, 1], tf.int32),
        }
    else:
        assert isinstance(loaded, loaders.BatchSequence)


@pytest.mark.backends
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_without_tensorflow(backend):
    pytest.importorskip(backend)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW],
        cwd=ROOT,
        env=without_tensorflow.environment(backend),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    name, found, ids, seen = json.loads(done.stdout.splitlines()[-1])
    assert name == backend and not found
    make = training()
    assert ids == [make(17 + i)["token_ids"].tolist() for i in range(5)]
    # Keras may read ahead, and reads the first again to build the model.
    order = [step for i, step in enumerate(seen) if step not in seen[:i]]
    assert order[:8] == list(range(17, 25))
