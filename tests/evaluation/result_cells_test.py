import pytest

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("accuracy", 0.4567, "45.7"),
        ("matthews_train", 0.09, "9.0"),
        ("threshold", -5.08549, "-5.085"),
        ("perplexity", 733293.3, "733,293"),
        ("num_last", 10, "10"),
        ("auc", None, ""),
        ("loss", None, ""),
    ],
)
def test_values(name, value, expected):
    assert tables.metric_value(name, value) == expected


def test_counts_and_paths():
    assert tables.count(8551) == "8,551"
    assert tables.count(None) == ""
    cell = tables.path("out/x", "not finished")
    assert (cell.text, cell.note, cell.is_code) == (
        "out/x",
        "not finished",
        True,
    )


def test_generated_data_are_named_once():
    assert tables.sample_notes(()) == []
    assert tables.sample_notes(["RTE", "CoLA", "RTE"]) == [
        "Generated sample data: CoLA, RTE."
    ]


def test_over_seeds():
    assert tables.over_seeds(None, None) == ""
    one = comparison.Result((), {"1": {"f1": 0.5}})
    cell = tables.over_seeds(one, "f1")
    assert (cell.text, cell.note) == ("50.0", "1 seed")
    cell = tables.over_seeds(one, "accuracy")
    assert (cell.text, cell.note) == ("", "")
    two = comparison.Result((), {"1": {"f1": 0.5}, "2": {"f1": 0.7}})
    cell = tables.over_seeds(two, "f1")
    assert (cell.text, cell.note) == ("60.0", "50.0 to 70.0; 2 seeds")
