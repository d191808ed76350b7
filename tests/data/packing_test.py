import numpy as np
import pytest

from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.data import transforms
from tests.data import examples_test

ITEMS = [
    packing.Candidates(
        [7, 8], (packing.Continuation([5]), packing.Continuation([6, 9]))
    ),
    packing.Candidates([3], (packing.Continuation([1, 2, 4], 2),)),
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
    assert (len(packed), packed.num_branches) == (3, 1)
    np.testing.assert_equal(packed.lengths, [3, 4, 4])
    found = packed.batch([1], 4)
    assert found["token_ids"].tolist() == [[7, 8, 6, 9]]
    assert found["branch"].tolist() == [[0, 0, 1, 1]]
    assert found["predictor"].tolist() == [[0, 0, 1, 2]]


def test_shared_documents_of_choices():
    example = examples.Example("ab", "c", ("de", "d", "fgh"), 1)
    encoded = packing.PackedExamples(
        [example],
        tokenizer=examples_test.CountingTokenizer(),
        transform=transforms.multiple_choice,
        max_sequence_length=32,
        name="choices",
    )
    assert encoded.lengths.tolist() == encoded.num_tokens.tolist() == [14]
    found = encoded.batch([0], 15)
    a, b, c, d, e, f, g, h = range(97, 105)
    prefix = [128, a, b, c, 129]
    assert {name: array[0].tolist() for name, array in found.items()} == {
        "token_ids": [*prefix, d, e, 130, d, 130, f, g, h, 130, 0],
        "position_ids": [0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 5, 6, 7, 8, 0],
        "branch": [0] * 5 + [1] * 3 + [2] * 2 + [3] * 4 + [-1],
        "predictor": [0, 0, 1, 2, 3, 4, 5, 6, 4, 8, 4, 10, 11, 12, 0],
        "token_weights": pytest.approx(
            [0.0]
            + [(1 / 7 + 1 / 6 + 1 / 8) / 3] * 4
            + [1 / 21] * 3
            + [1 / 18] * 2
            + [1 / 24] * 4
            + [0.0]
        ),
        "extract_position": [7, 9, 13],
    }
    assert found["token_weights"].sum() == pytest.approx(1.0)
    assert found.keys() == encoded.spec(1).keys()


def test_scores_go_back_to_their_items():
    for share_prefix in (True, False):
        packed = packing.PackedCandidates(ITEMS, share_prefix=share_prefix)
        shape = (len(packed), packed.num_branches)
        values = -1.0 - np.arange(shape[0] * shape[1]).reshape(shape)
        found = packed.scores(values, np.full(shape, 2.0), values + 4.0)
        assert found[0].log_probability.tolist() == [-1.0, -2.0]
        assert found[1].log_probability.tolist() == [-3.0]
        assert found[0].num_tokens.tolist() == [2, 2]
        assert found[0].is_likeliest.tolist() == [True, True]
        assert found[1].is_likeliest.tolist() == [False]
