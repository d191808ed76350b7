import json
import pathlib
import subprocess
import sys

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
from gpt1_keras.data import batches, prepare, py_loader
from tests.reference import counting_books

books = counting_books.CountingBooks([50, 90])
make = batches.TrainingBatches(books, batch_size=3, sequence_length=8, seed=5)
seen = []

class Recorder:
    batch_size, sequence_length = 3, 8

    def __call__(self, step):
        seen.append(step)
        batch = make(step)
        return batch["token_weights"][:, 0], batch["token_ids"][:, 0, :1] * 1.0

loader = py_loader.BatchSequence(make, first_step=17, num_steps=5)
ids = [loader[i]["token_ids"].tolist() for i in range(len(loader))]
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
endless = py_loader.BatchSequence(Recorder(), first_step=17, num_steps=None)
model.fit(endless, steps_per_epoch=4, epochs=2, verbose=0)
found = "tensorflow" in sys.modules
print(json.dumps([keras.backend.backend(), found, ids, seen]))
"""


def training():
    books = counting_books.CountingBooks([50, 90])
    return batches.TrainingBatches(
        books, batch_size=3, sequence_length=8, seed=5
    )


def test_yields_the_batches_of_the_steps():
    make = training()
    loader = loaders.BatchSequence(make, first_step=17, num_steps=5)
    assert len(loader) == loader.num_batches == 5
    for i in range(5):
        np.testing.assert_equal(loader[i], make(17 + i))
    with pytest.raises(IndexError):
        loader[5]


def test_the_same_arrays_as_tf_data():
    pytest.importorskip("tensorflow")
    from gpt1_keras.data import tf_loader

    make = training()
    chain = tf_loader.dataset(
        make, first_step=2, num_steps=30
    ).as_numpy_iterator()
    loader = loaders.BatchSequence(make, first_step=2, num_steps=30)
    compared = 0
    for i, batch in enumerate(chain):
        np.testing.assert_equal(loader[i], batch)
        compared += 1
    assert compared == 30


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
