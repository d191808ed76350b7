import numpy as np

from gpt1_keras.data import packing


def test_all_of_a_continuation_is_scored_unless_said_otherwise():
    assert packing.Continuation([1, 2]).num_context == 0


def test_fields():
    item = packing.Item([1], (packing.Continuation([2], 1),))
    prefix, (continuation,), num_cut = item
    assert (prefix, num_cut) == ([1], 0)
    assert (continuation.ids, continuation.num_context) == ([2], 1)
    scores = packing.Scores(np.zeros(1), np.ones(1, int), np.ones(1, bool))
    assert scores._fields == ("log_probability", "num_tokens", "is_likeliest")
