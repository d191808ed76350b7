import numpy as np

from gpt1_keras.data import batches
from gpt1_keras.data import windows
from tests.reference import counting_books


def form(batch):
    return {name: (x.shape, x.dtype.name) for name, x in batch.items()}


def test_training_batches():
    make = counting_books.training([50, 5, 80])
    assert make.num_windows == 7 + 11
    batch = make(3)
    expected = {
        "token_ids": ((4, 1, 8), "int32"),
        "token_weights": ((4, 1, 8), "float32"),
        "extract_position": ((4, 1), "int32"),
    }
    assert make.spec == form(batch) == expected
    ids = batch["token_ids"][:, 0]
    assert (np.diff(ids, axis=1) == 1).all()
    stream = windows.TrainingWindows([50, 5, 80], sequence_length=8, seed=0)
    book, start = stream.at(np.arange(12, 16))
    assert ids[:, 0].tolist() == (1000 * book + start).tolist()
    assert batch["token_weights"][:, 0].tolist() == [[0.0] + [1.0] * 7] * 4
    assert batch["extract_position"].tolist() == [[7]] * 4


def test_a_share_of_the_windows_repeats_its_first_tokens():
    plain, make = (
        counting_books.training(
            [900, 1000], length=64, size=50, repeated_share=share
        )
        for share in (0.0, 0.2)
    )
    periods = []
    for step in range(20):
        rows = make(step)["token_ids"][:, 0]
        for row, before in zip(rows, plain(step)["token_ids"][:, 0]):
            # Of 0 1 2 0 1 2 0, the first step back follows one period.
            back = np.flatnonzero(np.diff(row) < 0)
            period = int(back[0]) + 1 if len(back) else 64
            assert row.tolist() == before[np.arange(64) % period].tolist()
            periods.append(period)
    repeated = [period for period in periods if period < 64]
    assert set(repeated) == set(range(17, 33))
    assert repeated[:6] == [20, 25, 32, 29, 23, 25]  # in every version
    # 1,000 draws: four standard deviations are 0.05.
    assert abs(len(repeated) / len(periods) - 0.2) < 0.05


def test_held_out_batches_table():
    books = counting_books.CountingBooks([7, 1, 3])
    make = batches.HeldOutBatches(
        books, batch_size=3, sequence_length=4, stride=2
    )
    assert len(make) == 2
    first, second = make(0), make(1)
    assert form(first) == make.spec
    ids = [[0, 1, 2, 3], [2, 3, 4, 5], [3, 4, 5, 6]]
    weights = [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    assert first["token_ids"][:, 0].tolist() == ids
    assert first["token_weights"][:, 0].tolist() == weights
    padding = [[0] * 4] * 2
    ids, weights = [2000, 2001, 2002, 0], [0, 1, 1, 0]
    assert second["token_ids"][:, 0].tolist() == [ids, *padding]
    assert second["token_weights"][:, 0].tolist() == [weights, *padding]
    assert second["extract_position"].tolist() == [[2], [0], [0]]
