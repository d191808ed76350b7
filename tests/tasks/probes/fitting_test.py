import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot
from tests.reference import letter_tokenizer

NEWLINE, FULL_STOP = 10, ord(".")


class NoNewline(letter_tokenizer.LetterTokenizer):
    newline_id = None


def fit(prefix, *ids, limit, tokenizer=letter_tokenizer.LetterTokenizer()):
    return zero_shot.fit(
        prefix,
        [packing.Continuation(one) for one in ids],
        tokenizer=tokenizer,
        max_sequence_length=limit,
    )


def test_table():
    for prefix, limit, expected in (
        ([1, 2, 3, 4], 6, [1, 2, 3, 4]),
        ([1, 2, 3, 4], 4, [3, 4]),
        ([], 4, [NEWLINE]),
    ):
        found = fit(prefix, [5, 6], [7], limit=limit)
        num_cut = max(0, len(prefix) - len(expected))
        assert found == (expected, (([5, 6], 0), ([7], 0)), num_cut)
    assert fit([], [5], limit=2, tokenizer=NoNewline()).prefix == [FULL_STOP]
    with pytest.raises(ValueError, match="of 4 tokens leaves no room"):
        fit([1], [5, 6, 7, 8], limit=4)


def test_no_text_is_encoded_as_the_opening():
    assert zero_shot.encode(" ", letter_tokenizer.LetterTokenizer()) == [
        NEWLINE
    ]
    assert zero_shot.encode("a b", NoNewline()) == [ord("a"), ord("b")]


@given(
    st.lists(st.integers(0, 9)),
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5), min_size=1),
    st.integers(6, 12),
)
def test_fits_and_keeps_what_is_near(prefix, ids, limit):
    found = fit(prefix, *ids, limit=limit)
    longest = max(map(len, ids))
    assert [c.ids for c in found.continuations] == ids
    assert 1 <= len(found.prefix) <= limit - longest
    if prefix:
        assert len(found.prefix) == min(len(prefix), limit - longest)
        assert found.num_cut == len(prefix) - len(found.prefix)
        assert found.prefix == prefix[found.num_cut :]
    else:
        assert found.num_cut == 0
