import html.parser
import types

import markdown_it
import pytest
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables


def test_numbers_are_told_from_words():
    for text in ("45.4", "-2.0", "8,551", "1e-05"):
        assert tables.Cell(text).is_number
    for text in ("", "45.4 to 46", "RTE"):
        assert not tables.Cell(text).is_number
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
        "| a&#124;b | 45.4 (44.0 to 46.0; 3 seeds) |\n"
        "| `out/x` |  |\n\n"
        "In percent.\n"
    )


class Texts(html.parser.HTMLParser):
    """The texts of all cells and paragraphs of a page, in order."""

    def __init__(self, text):
        super().__init__()
        self.found, self.tags = [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag in ("p", "td", "th"):
            self.found.append("")

    def handle_data(self, data):
        if self.found and data != "\n":
            self.found[-1] += data


NAME = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["a|b", "`x`", "<b>", "&lt;", "\\|", "a\n# b", "**b**", "_i_", "__", "- x"]
    + [
        "1. x",
        "[a](b)",
        "![a](b)",
        "$x$",
        "~~s~~",
        "<!--",
        "http://a",
        "--",
        "\\",
    ]
)


@given(cells=st.lists(NAME, min_size=3, max_size=3), title=NAME, note=NAME)
@example(cells=["|", "`", "\\"], title="*", note="1) x")
def test_markdown_shows_any_name_as_it_is(cells, title, note):
    first, second, small = cells
    table = tables.Table(
        f"t {title}",
        ["run", second],
        [[first, tables.path(second)], [tables.Cell(first, f"n {small}"), ""]],
        [note or "n"],
    )
    markdown = markdown_it.MarkdownIt("commonmark")
    markdown.enable(["table", "strikethrough"])
    text = tables.markdown(table)
    shown = Texts(markdown.render(text))
    one, two, three, four, five = map(
        tables.one_line, (title, first, second, f"n {small}", note or "n")
    )
    expected = [f"t {one}", "run", three, two, three, f"{two} ({four})", ""]
    expected += [five] if five else []
    assert shown.found == [each.strip() for each in expected]
    assert shown.tags <= {
        *("p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code"),
    }


def test_sentences_are_long_and_paths_are_not():
    text = "loss 3; perplexity 20.1; perplexity of words 345"
    assert tables.Cell(text).is_long
    assert not tables.Cell(text, is_code=True).is_long
    assert not tables.Cell("loss 3").is_long
    assert tables.Cell("1", "a; b").note_lines() == ["a", "b"]
    assert tables.Cell("1").note_lines() == []


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("accuracy", 0.4567, ("accuracy", "45.7")),
        ("accuracy_middle", 0.5, ("accuracy, middle", "50.0")),
        ("matthews_train", 0.09, ("Matthews, train", "9.0")),
        ("glue_average", 0.5, ("glue average", "50.0")),
        ("threshold", -5.08549, ("threshold", "-5.085")),
        ("perplexity", 733293.3, ("perplexity", "733,293")),
        ("num_last", 10, ("num last", "10")),
        ("auc", None, ("AUC", "")),
        ("loss", None, ("loss", "")),
    ],
)
def test_metrics(name, value, expected):
    found = tables.metric_name(name), tables.metric_value(name, value)
    assert found == expected


def test_counts_and_paths():
    assert tables.count(8551) == "8,551" and tables.count(None) == ""
    cell = tables.path("out/x", "not finished")
    assert cell == tables.Cell("out/x", "not finished", is_code=True)


def test_generated_data_are_named():
    assert tables.sample_notes(()) == []
    assert tables.sample_notes(["RTE", "CoLA", "RTE"]) == [
        "Generated sample data: CoLA, RTE."
    ]
    for are_samples, expected in (
        ([], "t"),
        ([False, None], "t"),
        ([True, True], "t (sample data)"),
        ([True, None], "t (partly sample data)"),
    ):
        assert tables.sample_title("t", are_samples) == expected


def test_over_seeds():
    def cell(metric, *values, **more):
        seeds = {str(i): {"f1": value} for i, value in enumerate(values)}
        run = types.SimpleNamespace(seeds=seeds)
        found = tables.over_seeds(comparison.Result((run,)), metric, **more)
        return found.text, found.note

    assert tables.over_seeds(None, None) == ""
    assert cell("f1", 0.5) == ("50.0", "1 seed")
    assert cell("accuracy", 0.5) == ("", "")
    values = (0.5, 0.9, 0.7, 0.6)
    assert cell("f1", *values) == ("65.0", "50.0 to 90.0; 4 seeds")
    assert cell("f1", *values, middle="mean")[0] == "67.5"
