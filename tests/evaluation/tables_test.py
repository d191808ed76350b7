import markdown_it
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.evaluation import tables
from gpt1_keras.evaluation import text_view

NAME = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["a|b", "`x`", "<b>", "&lt;", "\\|", "a\n# b", "**b**", "_i_", "__", "- x"]
    + ["1. x", "[a](b)", "![a](b)", "$x$", "~~s~~", "<!--", "http://a", "--"]
    + ["\\"]
)


@given(cells=st.lists(NAME, min_size=3, max_size=3), title=NAME, note=NAME)
@example(cells=["|", "`", "\\"], title="*", note="x")
def test_markdown_shows_any_name_as_it_is(tmp_path_factory, cells, title, note):
    first, second, small = cells
    table = tables.Table(
        f"t {title}",
        [
            {"run": first, f"x{second}": tables.path(second)},
            {"run": tables.Cell(first, f"n {small}")},
        ],
        [f"n {note}"],
    )
    markdown = markdown_it.MarkdownIt("commonmark")
    markdown.enable(["table", "strikethrough"])
    path = tmp_path_factory.getbasetemp() / "table.md"
    page = text_view.write_page(path, "", "", {"": [table]})
    blocks = markdown.parse(page)
    texts = [block.children for block in blocks if block.type == "inline"]
    given = (title, first, second, f"n {small}", f"n {note}")
    one, two, three, four, five = map(tables.unbroken, given)
    column = tables.unbroken(f"x{second}")
    expected = [f"t {one}", "run", column, two, three, f"{two} ({four})"]
    expected += ["", five]
    shown = ["".join(part.content for part in text) for text in texts]
    assert shown == [each.strip() for each in expected]
    names = {block.type.removesuffix("_open") for block in blocks}
    assert {name for name in names if not name.endswith("_close")} <= {
        *("paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td"),
    }
    assert {part.type for text in texts for part in text} <= {
        *("text", "strong_open", "strong_close", "code_inline"),
    }


def test_which_cells_are_numbers():
    """What they show: report_test.py, by the report of docs/results."""
    for value, expected in (
        *((1234, True), (-0.5, True), (1.5e-7, True)),
        *((None, False), ("a", False), ("1 a", False)),
    ):
        assert tables.cell(value).is_number == expected
    assert tables.cell(-12345.6).text == "-12,346"
