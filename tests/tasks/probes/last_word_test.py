import numpy as np
import pytest

from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot
from tests.reference import letter_tokenizer

PROBE = zero_shot.LastWord()


def row(word, text="a"):
    return examples.Example(text, choices=(word,), label=0)


@pytest.mark.parametrize(
    "text, word, limit, prefix, rest, num_cut",
    [
        ("ab c", "tom", 9, "abc", "tom", 0),
        ("ab c", "tom", 5, "bc", "tom", 1),
        ("ab c", "tom", 3, "c", "to", 2),
        ("`` a , '' ` b ' -lrb- c -rrb-", "d", 50, "\"a,\"'b'(c)", "d", 0),
        ("``a x'' rock'n", "d", 50, "``ax''rock'n", "d", 0),
    ],
)
def test_item(text, word, limit, prefix, rest, num_cut):
    found = PROBE.item(
        row(word, text),
        tokenizer=letter_tokenizer.LetterTokenizer(),
        max_sequence_length=limit,
    )
    continuation = (list(map(ord, rest)), 0)
    assert found == (list(map(ord, prefix)), (continuation,), num_cut)


def test_measure():
    def scores(probability, count, is_likeliest):
        return packing.Scores(
            np.log([probability]), np.array([count]), np.array([is_likeliest])
        )

    found = PROBE.measure(
        [row("a")] * 4,
        [
            scores(1 / 2, 1, True),
            scores(1 / 8, 3, True),
            scores(1 / 4, 1, False),
            scores(1 / 4, 3, True),
        ],
    )
    # 2^(1 + 3 + 2 + 2) over 4 words and over 8 tokens.
    assert found == pytest.approx(
        {"accuracy": 0.75, "perplexity": 4.0, "perplexity_token": 2.0}
    )
    assert next(iter(found)) == "accuracy"


def test_majority():
    rows = [row("tom"), row("ann"), row("tom"), row("door")]
    assert PROBE.majority(rows) == {"accuracy": 0.5}
