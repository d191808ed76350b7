import numpy as np
import pytest

from gpt1_keras.data import batches
from tests.reference import counting_books


def training(lengths, *, length=8, size=4):
    return batches.TrainingBatches(
        counting_books.CountingBooks(lengths),
        batch_size=size,
        sequence_length=length,
        seed=0,
    )


def held_out(lengths, *, length=16, size=4, **options):
    return batches.HeldOutBatches(
        counting_books.CountingBooks(lengths),
        batch_size=size,
        sequence_length=length,
        **options,
    )


def assert_form(batch, spec):
    assert {
        name: (value.shape, str(value.dtype)) for name, value in batch.items()
    } == spec


def test_training_batches():
    make = training([50, 5, 80])
    assert make.num_windows == 7 + 11
    batch = make(3)
    assert make.spec == {
        "token_ids": ((4, 1, 8), "int32"),
        "token_weights": ((4, 1, 8), "float32"),
        "extract_position": ((4, 1), "int32"),
    }
    assert_form(batch, make.spec)
    ids = batch["token_ids"][:, 0]
    assert (np.diff(ids, axis=1) == 1).all()
    assert set((ids[:, 0] // 1000).tolist()) <= {0, 2}
    assert batch["token_weights"][:, 0].tolist() == [[0.0] + [1.0] * 7] * 4
    assert batch["extract_position"].tolist() == [[7]] * 4
    np.testing.assert_equal(make(3), batch)
    assert make(4)["token_ids"].tolist() != batch["token_ids"].tolist()


def test_held_out_batches_table():
    make = held_out([7, 1, 3], length=4, size=3, stride=2)
    assert len(make) == 2 and make.num_scored == 6 + 2
    first, second = make(0), make(1)
    assert_form(first, make.spec)
    ids = [[0, 1, 2, 3], [2, 3, 4, 5], [3, 4, 5, 6]]
    weights = [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    assert first["token_ids"][:, 0].tolist() == ids
    assert first["token_weights"][:, 0].tolist() == weights
    padding = [[0] * 4] * 2
    ids, weights = [2000, 2001, 2002, 0], [0, 1, 1, 0]
    assert second["token_ids"][:, 0].tolist() == [ids, *padding]
    assert second["token_weights"][:, 0].tolist() == [weights, *padding]
    assert second["extract_position"].tolist() == [[2], [0], [0]]
    with pytest.raises(IndexError):
        make(2)
