import itertools

import numpy as np
import pytest

from gpt1_keras.data import batches
from gpt1_keras.data import tf_loader
from tests.reference import counting_books

tf = pytest.importorskip("tensorflow")


def training():
    books = counting_books.CountingBooks([50, 90])
    return batches.TrainingBatches(
        books, batch_size=3, sequence_length=8, seed=5
    )


def test_yields_the_batches_in_order_from_any_step():
    make = training()
    got = list(
        tf_loader.dataset(make, first_step=17, num_steps=20).as_numpy_iterator()
    )
    assert len(got) == 20
    for step, batch in enumerate(got, start=17):
        np.testing.assert_equal(batch, make(step))


def test_shapes_are_static():
    spec = tf_loader.dataset(training(), num_steps=1).element_spec
    assert spec == {
        "token_ids": tf.TensorSpec([3, 1, 8], tf.int32),
        "token_weights": tf.TensorSpec([3, 1, 8], tf.float32),
        "extract_position": tf.TensorSpec([3, 1], tf.int32),
    }


def test_goes_on_without_end():
    make = training()
    endless = tf_loader.dataset(make, first_step=3, num_steps=None)
    third = next(itertools.islice(endless.as_numpy_iterator(), 40, None))
    np.testing.assert_equal(third, make(43))


def test_held_out():
    make = batches.HeldOutBatches(
        counting_books.CountingBooks([20, 7]),
        batch_size=4,
        sequence_length=8,
        stride=4,
    )
    got = list(tf_loader.dataset(make, num_steps=len(make)).as_numpy_iterator())
    for step, batch in enumerate(got):
        np.testing.assert_equal(batch, make(step))
    assert sum(b["token_weights"].sum() for b in got) == 25
