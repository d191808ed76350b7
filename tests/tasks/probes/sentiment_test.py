import math

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot
from gpt1_keras.text import tokenizer
from tests.reference import letter_tokenizer


def item(text, limit, words=(("n", "no"), ("p",))):
    return zero_shot.Sentiment(words).item(
        examples.Example(text),
        tokenizer=letter_tokenizer.LetterTokenizer(),
        max_sequence_length=limit,
    )


def ids(text):
    return list(map(ord, text))


def scores(*probabilities):
    return packing.Scores(
        np.log(probabilities),
        np.ones(len(probabilities), int),
        np.zeros(len(probabilities), bool),
    )


@pytest.mark.parametrize(
    "limit, prefix", [(50, "fun.very"), (8, "n.very"), (3, "y")]
)
def test_item(limit, prefix):
    assert item("fun .", limit)[:2] == (
        ids(prefix),
        ((ids("n"), 0), (ids("no"), 0), (ids("p"), 0)),
    )


def test_long_label_words_leave_a_prefix():
    found = item("fun", 3, (["bad"], ["good"]))
    assert found[:2] == (ids("y"), ((ids("ba"), 0), (ids("go"), 0)))


def test_probabilities_of_words_are_summed():
    probe = zero_shot.Sentiment((("bad",), ("good", "fine")))
    rows = [examples.Example("", label=label) for label in "1001"]
    found = probe.measure(
        rows,
        [
            scores(0.3, 0.2, 0.15),  # positive, though bad is the likeliest
            scores(0.4, 0.2, 0.15),  # negative
            scores(1e-30, 2e-30, 1e-31),  # positive: wrong
            scores(0.2, 0.05, 0.3),  # positive
        ],
    )
    # Of the four pairs of a positive and a negative review two are in order.
    assert found == {"accuracy": 0.75, "positive_share": 0.75, "auc": 0.5}
    assert probe.majority(rows[:3]) == {"accuracy": 2 / 3}


def test_multiplied_by_any_factor_nothing_changes():
    probe = zero_shot.Sentiment()
    rows = [examples.Example("", label="0")]
    for shift in (0.0, -900.0):
        moved = scores(0.02, 0.01)
        moved = moved._replace(log_probability=moved.log_probability + shift)
        found = probe.measure(rows, [moved])
        assert found["accuracy"] == 1.0 and math.isfinite(found["accuracy"])


@pytest.mark.parametrize(
    "words",
    [
        (("bad",), ()),
        ("bad", "good"),
        ("bad", ("good",)),
        "bad",
        (("bad",),),
        (("bad",), ("good",), ("dull",)),
        (("bad",), 5),
        (("bad",), (5,)),
        (("bad",), (" ",)),
        (),
        5,
    ],
)
def test_wrong_label_words(words):
    with pytest.raises(errors.InputError, match="are not two lists of words"):
        zero_shot.Sentiment(words)


def test_a_word_of_both_classes():
    with pytest.raises(errors.InputError, match="'good' more than once"):
        zero_shot.Sentiment((("good",), ("fine", "good")))


@pytest.mark.needs_data
def test_released_ids(shared_file):
    folder = shared_file("data/gpt1_vocab")
    found = zero_shot.Sentiment().item(
        examples.Example("the president is good ."),
        tokenizer=tokenizer.Tokenizer.from_files(
            folder / "encoder_bpe_40000.json", folder / "vocab_40000.bpe"
        ),
        max_sequence_length=512,
    )
    assert found[:2] == (
        [481, 4735, 544, 870, 239, 963],
        (([9503], 0), ([6353], 0)),
    )
