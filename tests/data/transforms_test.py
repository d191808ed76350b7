"""The tables of the docstrings, and what holds for any input."""

import types

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from gpt1_keras import errors
from gpt1_keras.data import transforms

S, D, E = 101, 102, 103
TOKENIZER = types.SimpleNamespace(start_id=S, delimiter_id=D, extract_id=E)
ALL = (
    transforms.classification,
    transforms.entailment,
    transforms.similarity,
    transforms.multiple_choice,
)


def apply(transform, *texts, max_sequence_length=512):
    return transform(
        *texts, tokenizer=TOKENIZER, max_sequence_length=max_sequence_length
    )


def test_table():
    pair, choices = [S, 5, 6, D, 7, E], ([8], [9, 8])
    both = [[S, 5, 6, D, 8, E], [S, 5, 6, D, 9, 8, E]]
    for transform, texts, expected in (
        (transforms.classification, ([5, 6],), [[S, 5, 6, E]]),
        (transforms.entailment, ([5, 6], [7]), [pair]),
        (transforms.similarity, ([5, 6], [7]), [pair, [S, 7, D, 5, 6, E]]),
        (transforms.multiple_choice, ([5], [6], choices), both),
        (transforms.multiple_choice, ([5, 6], (), choices), both),
    ):
        assert apply(transform, *texts) == (expected, 0)


def test_pad_table():
    found = transforms.pad([[[S, 5, 6, E]], [[S, E]]], length=6)
    assert {name: array.tolist() for name, array in found.items()} == {
        "token_ids": [[[S, 5, 6, E, 0, 0]], [[S, E, 0, 0, 0, 0]]],
        "token_weights": [[[0, 1, 1, 1, 0, 0]], [[0, 1, 0, 0, 0, 0]]],
        "extract_position": [[3], [1]],
    }
    dtypes = [array.dtype.name for array in found.values()]
    assert dtypes == ["int32", "float32", "int32"]


def test_what_is_truncated():
    """max_len = n_ctx // 2 - 2 (train.py, line 377)."""
    for transform in (transforms.entailment, transforms.similarity):
        found = apply(transform, [5] * 300, [6] * 300)
        assert {len(ids) for ids in found.candidates} == {511}
        assert found.candidates[0] == [S, *[5] * 254, D, *[6] * 254, E]
        assert found.num_cut == 2 * 46
    # One text may fill all positions.
    found = apply(
        transforms.classification, list(range(7)), max_sequence_length=6
    )
    assert found == ([[S, 0, 1, 2, 3, E]], 3)
    # Of a choice only the document is truncated. Here the longest choice
    # leaves room for two of its tokens.
    found = apply(
        transforms.multiple_choice,
        *([1, 2, 3, 4, 5], [6, 7], ([8], [9, 9, 9])),
        max_sequence_length=10,
    )
    expected = [[S, 1, 2, 6, 7, D, 8, E], [S, 1, 2, 6, 7, D, 9, 9, 9, E]]
    assert found == (expected, 3)


ids = st.lists(st.integers(0, 100), max_size=40)


def test_two_texts_need_room():
    for transform in ALL[1:]:
        with pytest.raises(errors.InputError, match="give at least 6"):
            apply(transform, [5], [6], ([7], [8]), max_sequence_length=5)


@hypothesis.given(
    transform=st.sampled_from(ALL),
    text=ids,
    text_pair=ids,
    choices=st.lists(ids, min_size=2, max_size=4),
    length=st.integers(8, 60),
)
def test_any_input(transform, text, text_pair, choices, length):
    found = apply(
        transform, text, text_pair, tuple(choices), max_sequence_length=length
    )
    for candidate in found.candidates:
        assert len(candidate) <= length
        assert candidate[0] == S and candidate[-1] == E
        assert candidate.count(S) == candidate.count(E) == 1
    if transform is transforms.multiple_choice:
        prefixes = {tuple(c[: c.index(D)]) for c in found.candidates}
        assert len(prefixes) == 1 and len(found.candidates) == len(choices)
    if transform is transforms.classification:
        assert found.num_cut == len(text) - (len(found.candidates[0]) - 2)
    padded = transforms.pad([found.candidates], length=length)
    at = padded["extract_position"][0]
    read = np.take_along_axis(padded["token_ids"][0], at[:, None], axis=1)
    assert (read == E).all()
    # Each token but the first is predicted once.
    total = sum(len(c) - 1 for c in found.candidates)
    assert padded["token_weights"].sum() == total
