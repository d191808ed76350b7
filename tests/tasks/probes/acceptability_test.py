import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data import packing
from gpt1_keras.tasks import zero_shot
from tests.reference import letter_tokenizer

PROBE = zero_shot.Acceptability()
NEWLINE = 10


def item(text, limit=8):
    return PROBE.item(
        examples.Example(text),
        tokenizer=letter_tokenizer.LetterTokenizer(),
        max_sequence_length=limit,
    )


def rows(labels):
    return [examples.Example("", label=label) for label in labels]


def scores(averages, num_tokens=4):
    return [
        packing.Scores(
            np.array([average * num_tokens]),
            np.array([num_tokens]),
            np.array([False]),
        )
        for average in averages
    ]


@pytest.mark.parametrize(
    "text, prefix, rest",
    [
        ("ab c.", "a", "bc."),
        ("abcdefghij", "a", "bcdefgh"),
        ("a", "\n", "a"),
        ("", "\n", "\n"),
    ],
)
def test_item(text, prefix, rest):
    assert item(text)[:2] == (
        [*map(ord, prefix)],
        ((list(map(ord, rest)), 0),),
    )


def test_averages_against_the_train_threshold():
    # Train: best between -4 and -2, that is -3. Sums would not separate.
    train = rows("0110"), scores([-5, -2, -1, -4], 4)
    test_scores = scores([-3.5, -2.5], 2) + scores([-2.9, -3.1], 10)
    found = PROBE.measure(rows("0101"), test_scores, train)
    assert found == {
        "matthews": 0.0,
        "accuracy": 0.5,
        # Of 4 pairs: -2.5 beats -3.5 and -2.9; -3.1 beats -3.5.
        "auc": 0.75,
        "threshold": -3.0,
        "matthews_train": 1.0,
    }
    assert next(iter(found)) == "matthews"
    with pytest.raises(ValueError, match="train"):
        PROBE.measure(rows("01"), scores([-1, -2]))
    with pytest.raises(errors.InputError, match="cola: 1 examples, 1 of"):
        PROBE.measure(rows([None]), scores([-1]), train)


def test_majority():
    assert PROBE.majority(rows("0111")) == {
        "matthews": 0.0,
        "accuracy": 0.75,
        "auc": 0.5,
    }
    assert PROBE.random == 0.0 and PROBE.needs_train and PROBE.name == "cola"


def test_read(tmp_path):
    (tmp_path / "CoLA").mkdir()
    (tmp_path / "CoLA/dev.tsv").write_text("a\t1\t\tIt rains.\n")
    assert PROBE.read(tmp_path, "dev")[0].text == "It rains."
