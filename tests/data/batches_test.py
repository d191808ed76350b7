import numpy as np
import pytest

from gpt1_keras.data import batches
from tests.reference import counting_books


def assert_form(batch, size, length):
    assert set(batch) == {"token_ids", "token_weights", "extract_position"}
    assert batch["token_ids"].shape == (size, 1, length)
    assert batch["token_ids"].dtype == np.int32
    assert batch["token_weights"].shape == (size, 1, length)
    assert batch["token_weights"].dtype == np.float32
    assert batch["extract_position"].shape == (size, 1)
    assert batch["extract_position"].dtype == np.int32


def test_training_batches():
    make = batches.TrainingBatches(
        counting_books.CountingBooks([50, 5, 80]),
        batch_size=4,
        sequence_length=8,
        seed=0,
    )
    assert make.num_windows == 7 + 11 and make.steps_per_epoch == 4
    batch = make(3)
    assert_form(batch, 4, 8)
    ids = batch["token_ids"][:, 0]
    assert (np.diff(ids, axis=1) == 1).all()
    assert set((ids[:, 0] // 1000).tolist()) <= {0, 2}
    assert batch["token_weights"][:, 0].tolist() == [[0.0] + [1.0] * 7] * 4
    assert batch["extract_position"].tolist() == [[7]] * 4
    np.testing.assert_equal(make(3), batch)
    assert make(4)["token_ids"].tolist() != batch["token_ids"].tolist()


def test_held_out_batches_table():
    make = batches.HeldOutBatches(
        counting_books.CountingBooks([7, 1, 3]),
        batch_size=3,
        sequence_length=4,
        stride=2,
    )
    assert len(make) == 2 and make.num_scored == 6 + 2
    first, second = make(0), make(1)
    assert_form(first, 3, 4)
    assert first["token_ids"][:, 0].tolist() == [
        [0, 1, 2, 3],
        [2, 3, 4, 5],
        [3, 4, 5, 6],
    ]
    assert first["token_weights"][:, 0].tolist() == [
        [0, 1, 1, 1],
        [0, 0, 1, 1],
        [0, 0, 0, 1],
    ]
    assert second["token_ids"][:, 0].tolist() == [
        [2000, 2001, 2002, 0],
        [0] * 4,
        [0] * 4,
    ]
    assert second["token_weights"][:, 0].tolist() == [
        [0, 1, 1, 0],
        [0] * 4,
        [0] * 4,
    ]
    assert second["extract_position"].tolist() == [[2], [0], [0]]
    with pytest.raises(IndexError):
        make(2)


def test_held_out_scores_every_token_once():
    lengths = [33, 2, 100, 16]
    make = batches.HeldOutBatches(
        counting_books.CountingBooks(lengths),
        batch_size=5,
        sequence_length=16,
        stride=7,
    )
    scored = []
    for step in range(len(make)):
        batch = make(step)
        scored += batch["token_ids"][batch["token_weights"] > 0].tolist()
    expected = [
        1000 * book + i for book, n in enumerate(lengths) for i in range(1, n)
    ]
    assert sorted(scored) == expected and make.num_scored == len(expected)


def test_limit():
    make = batches.HeldOutBatches(
        counting_books.CountingBooks([500, 500]),
        batch_size=4,
        sequence_length=16,
        stride=8,
        limit=100,
    )
    assert make.num_scored == 98


def test_no_held_out_books():
    make = batches.HeldOutBatches(
        counting_books.CountingBooks([]),
        batch_size=4,
        sequence_length=16,
        stride=8,
    )
    assert len(make) == 0 and make.num_scored == 0
