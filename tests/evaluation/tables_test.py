import pytest

from gpt1_keras.evaluation import tables


@pytest.mark.parametrize(
    "text, expected",
    [
        ("45.4", True),
        ("-2.0", True),
        ("8,551", True),
        ("1e-05", True),
        ("", False),
        ("45.4 to 46", False),
        ("RTE", False),
    ],
)
def test_numbers_are_told_from_words(text, expected):
    assert tables.Cell(text).is_number == expected


def test_columns_of_numbers():
    table = tables.Table(
        "t", ["a", "b", "c"], [["x", "1", ""], ["2", tables.Cell("3"), ""]]
    )
    assert table.number_columns() == {1}


def test_markdown():
    table = tables.Table(
        "Results",
        ["task", "ours"],
        [
            ["a|b", tables.Cell("45.4", "44.0 to 46.0; 3 seeds")],
            [tables.Cell("out/x", is_code=True), ""],
        ],
        ["In percent."],
    )
    assert tables.markdown(table) == (
        "**Results**\n\n"
        "| task | ours |\n|---|---|\n"
        "| a\\|b | 45.4 (44.0 to 46.0; 3 seeds) |\n"
        "| `out/x` |  |\n\n"
        "In percent.\n"
    )


def test_small_print_in_parts():
    assert tables.Cell("1", "a; b").note_lines() == ["a", "b"]
    assert tables.Cell("1").note_lines() == []


def test_sentences_are_long_and_paths_are_not():
    text = "loss 3; perplexity 20.1; perplexity of words 345"
    assert tables.Cell(text).is_long
    assert not tables.Cell(text, is_code=True).is_long
    assert not tables.Cell("loss 3").is_long
