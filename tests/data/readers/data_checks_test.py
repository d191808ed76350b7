import pytest

from gpt1_keras.data import examples
from gpt1_keras.data.readers import custom


def rows(*texts_and_labels):
    """Rows from line 2 on, as below a header."""
    return [
        custom.Row(line, examples.Example(text, label=label))
        for line, (text, label) in enumerate(texts_and_labels, 2)
    ]


@pytest.mark.parametrize("rare, is_warned", [(9, True), (10, False)])
def test_imbalance(rare, is_warned):
    common = [(f"a{i}", "yes") for i in range(100)]
    found = custom.imbalance(
        "my.tsv", rows(*common, *[(f"b{i}", "no") for i in range(rare)])
    )
    assert bool(found) == is_warned
    if is_warned:
        (line,) = found
        assert "'yes' 100, 'no' 9 rows (line 102 is the first" in line


@pytest.mark.parametrize("count, is_warned", [(40, True), (100, False)])
def test_few_to_score(count, is_warned):
    found = custom.few_to_score(
        "my.tsv", rows(*[(f"a{i}", "yes") for i in range(count)])
    )
    assert bool(found) == is_warned
    if is_warned:
        (line,) = found
        assert "only 40 rows are for dev, so one row is 2.5 %" in line


def test_repetitions_and_contradictions():
    found = custom.repetitions(
        "my.tsv",
        rows(("a", 1), ("b", 1), ("a", 1), ("c", 0), ("a", 0), ("c", 0)),
    )
    repeated, contradicting = found
    assert "my.tsv: repeated texts: 2, in 3 of 6 rows" in repeated
    assert "(line 4 repeats line 2)" in repeated
    assert "contradict each other: 1 " in contradicting
    assert "(line 2 1, line 6 0)" in contradicting


def test_unlabelled_rows_do_not_contradict():
    (line,) = custom.repetitions("t", rows(("a", None), ("a", "x")))
    assert "repeated texts: 1" in line


def test_nothing_to_warn_of():
    assert custom.repetitions("t", rows(("a", 1), ("b", 1))) == []
    assert custom.overlap("t", rows(("a", 1)), "d", rows(("b", 1))) == []


def test_second_texts_and_choices_tell_rows_apart():
    pair = [
        custom.Row(1, examples.Example("a", "b", label="x")),
        custom.Row(2, examples.Example("a", "c", label="y")),
        custom.Row(3, examples.Example("a", "c", ("d", "e"), 0)),
    ]
    assert custom.repetitions("t", pair) == []


def test_overlap():
    (line,) = custom.overlap(
        "train.tsv",
        rows(("a", 1), ("b", 0), ("b", 1)),
        "dev.tsv",
        rows(("c", 1), ("b", 0), ("b", 1)),
    )
    assert "dev.tsv: rows that are in train.tsv too: 2 of 3" in line
    assert "(line 3 is its line 3)" in line
