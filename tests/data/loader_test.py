import keras
import numpy as np

from gpt1_keras.data import batches
from gpt1_keras.data import loaders
from tests.reference import counting_books


def test_chooses_by_backend_and_yields_the_same_batches():
    books = counting_books.CountingBooks([50, 90])
    make = batches.TrainingBatches(
        books, batch_size=3, sequence_length=8, seed=5
    )
    loaded = loaders.load(make, first_step=4, num_steps=3)
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        assert isinstance(loaded, tf.data.Dataset)
        found = list(loaded.as_numpy_iterator())
    else:
        assert isinstance(loaded, loaders.BatchSequence)
        found = [loaded[i] for i in range(len(loaded))]
    assert len(found) == 3
    for step, batch in enumerate(found, start=4):
        np.testing.assert_equal(batch, make(step))


def test_without_an_end():
    books = counting_books.CountingBooks([50, 90])
    make = batches.TrainingBatches(
        books, batch_size=3, sequence_length=8, seed=5
    )
    loaded = loaders.load(make, first_step=4, num_steps=None)
    if keras.config.backend() == "tensorflow":
        batch = next(loaded.skip(100).as_numpy_iterator())
    else:
        assert loaded.num_batches is None
        batch = loaded[100]
    np.testing.assert_equal(batch, make(104))
