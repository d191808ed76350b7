import types

import numpy as np

from gpt1_keras.evaluation import held_out


def test_books_of_one_token_are_not_scored(caplog):
    for lengths, expected in (([], False), ([1], False), ([1, 2], True)):
        books = types.SimpleNamespace(lengths=np.array(lengths, np.int64))
        corpus = types.SimpleNamespace(split=lambda name: books)
        evaluation = types.SimpleNamespace(stride=8, batch_size=8)
        caplog.clear()
        found = held_out.HeldOut(evaluation, corpus, None, 16, 9)
        assert found.has_tokens == expected
        assert ("no book is held out" in caplog.text) != expected
