"""Scores and whole examples: models/shared_prefix_test.py."""

import numpy as np

from gpt1_keras.data import packing

ITEMS = [
    packing.Candidates([7, 8], [([], [5]), ([], [6, 9])]),
    packing.Candidates([3], [([1, 2], [4])]),
]


def test_tables():
    packed = packing.PackedCandidates(ITEMS)
    found = packed.batch([0, 1], 6)
    assert {name: array[0].tolist() for name, array in found.items()} == {
        "token_ids": [7, 8, 5, 6, 9, 0],
        "position_ids": [0, 1, 2, 2, 3, 0],
        "branch": [0, 0, 1, 2, 2, -1],
        "predictor": [0, 0, 1, 1, 3, 0],
        "token_weights": [0, 0, 1, 1, 1, 0],
    }
    # The first two tokens of the other one are only read.
    assert found["token_weights"][1].tolist() == [0, 0, 0, 1, 0, 0]
    assert found["predictor"][1].tolist() == [0, 0, 1, 2, 0, 0]
    spec = packed.spec(2)
    assert found.keys() == spec.keys()
    for name, (shape, dtype) in spec.items():
        assert found[name].dtype == dtype and shape == (2, None)
    # One continuation a row.
    packed = packing.PackedCandidates(ITEMS, share_prefix=False)
    assert packed.num_branches == 1
    np.testing.assert_equal(packed.lengths, [3, 4, 4])
    names = ("log_probability", "weight", "num_likeliest")
    found = dict.fromkeys(names, np.zeros((3, 1), "float32"))
    scores = packed.scores(found)
    assert scores[0].log_probability.dtype == "float64"
    found = packed.batch([1], 4)
    assert found["token_ids"].tolist() == [[7, 8, 6, 9]]
    assert found["branch"].tolist() == [[0, 0, 1, 1]]
    assert found["predictor"].tolist() == [[0, 0, 1, 2]]
