import dataclasses
from unittest import mock

import numpy as np
import pytest

from gpt1_keras.data import examples
from gpt1_keras.data import transforms
from tests.reference import letter_tokenizer


def test_subsets_of_seeds():
    subsets = {
        tuple(examples.draw_subset(range(1000), 100, seed=seed))
        for seed in range(5)
    }
    assert len(subsets) == 5
    # The subset of seed 0, as drawn by every version.
    assert examples.draw_subset(range(10), 4) == [2, 4, 6, 7]
    for count in (None, 10, 11):
        assert [*examples.draw_subset(range(10), count)] == [*range(10)]


def test_digests_of_own_rows_cover_all_columns_if_asked_to():
    row = examples.Example("a", line=2, given={"id": "7"})
    benchmark = examples.Example("a")
    other_line = dataclasses.replace(row, line=3)
    other_column = dataclasses.replace(row, given={"id": "8"})
    rows = (row, benchmark, other_line, other_column)
    for with_given, count in ((False, 1), (True, 4)):
        found = {examples.sha256([x], with_given=with_given) for x in rows}
        assert len(found) == count
    # A benchmark has none.
    digest = examples.sha256([benchmark])
    assert digest == examples.sha256([benchmark], with_given=True)
    pair = [benchmark, examples.Example("b")]
    assert examples.sha256(pair) != examples.sha256(pair[::-1])


def encode(rows, transform, max_sequence_length=32):
    letters = letter_tokenizer.LetterTokenizer()
    ids = {"start_id": 128, "delimiter_id": 129, "extract_id": 130}
    tokenizer = mock.Mock(wraps=letters, **ids)
    return tokenizer, examples.EncodedExamples(
        rows,
        tokenizer=tokenizer,
        transform=transform,
        max_sequence_length=max_sequence_length,
        name="letters",
    )


def test_sequences_and_sizes(caplog):
    rows = [
        examples.Example("ab", "c", ("d", "ef")),
        examples.Example("abc", "", ("g", "h")),
    ]
    _, found = encode(rows, transforms.multiple_choice)
    a, b, c, d, e, f = b"abcdef"
    assert found.candidates(0) == [
        [128, a, b, c, 129, d, 130],
        [128, a, b, c, 129, e, f, 130],
    ]
    np.testing.assert_equal(found.lengths, [8, 7])
    np.testing.assert_equal(found.num_tokens, [15, 14])
    assert (found.num_candidates, found.num_cut) == (2, 0)
    # A repeated text is encoded once.
    rows = [examples.Example("same", "same"), examples.Example("same", "b")]
    tokenizer, _ = encode(rows, transforms.entailment)
    assert tokenizer.encode.call_args_list == [
        mock.call("same"),
        mock.call("b"),
    ]
    # A vocabulary that lacks most of the texts.
    encode([examples.Example("a\0\0\0")], transforms.classification)
    assert "letters: 75 % of the tokens are unknown" in caplog.text
    # Truncation is logged.
    rows = [examples.Example("a"), examples.Example("a" * 9)]
    _, found = encode(rows, transforms.classification, 6)
    assert found.num_cut == 1
    # A bucket may be longer than the network has positions.
    assert found.batch([0, 1], 8)["token_ids"].shape == (2, 1, 6)
    assert (
        "letters: 1 of 2 examples were truncated to 6 positions, by 5 tokens "
        "in all; example 2 is the first"
    ) in caplog.text
    with pytest.raises(ValueError):
        encode([examples.Example("a")], transforms.multiple_choice)
