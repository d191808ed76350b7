import pathlib

import markdown_it
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import tables

NAME = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["a|b", "`x`", "<b>", "&lt;", "\\|", "a\n# b", "**b**", "_i_", "__", "- x"]
    + ["1. x", "[a](b)", "![a](b)", "$x$", "~~s~~", "<!--", "http://a", "--"]
    + ["\\"]
)


@given(cells=st.lists(NAME, min_size=3, max_size=3), title=NAME, note=NAME)
@example(cells=["|", "`", "\\"], title="*", note="1) x")
def test_markdown_shows_any_name_as_it_is(cells, title, note):
    first, second, small = cells
    table = tables.Table(
        f"t {title}",
        [
            {"run": first, f"x{second}": tables.path(second)},
            {"run": tables.Cell(first, f"n {small}")},
        ],
        [note or "n"],
    )
    markdown = markdown_it.MarkdownIt("commonmark")
    markdown.enable(["table", "strikethrough"])
    blocks = markdown.parse(tables.markdown(table))
    texts = [block.children for block in blocks if block.type == "inline"]
    given = (title, first, second, f"n {small}", note or "n")
    one, two, three, four, five = map(tables.one_line, given)
    column = tables.one_line(f"x{second}")
    expected = [f"t {one}", "run", column, two, three, f"{two} ({four})", ""]
    expected += [five] if five else []
    shown = ["".join(part.content for part in text) for text in texts]
    assert shown == [each.strip() for each in expected]
    names = {block.type.removesuffix("_open") for block in blocks}
    assert {name for name in names if not name.endswith("_close")} <= {
        *("paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td"),
    }
    assert {part.type for text in texts for part in text} <= {
        *("text", "strong_open", "strong_close", "code_inline"),
    }


def test_cells_show_any_value():
    for value, text in (
        *((None, ""), ("a", "a"), (1234, "1,234"), (0.12344, "0.1234")),
        *((1234.6, "1,235"), (-5, "-5"), (pathlib.Path("a/b"), "a/b")),
    ):
        assert tables.cell(value).text == text
        assert tables.cell(value).is_code == isinstance(value, pathlib.Path)
    assert tables.cell(1234).is_number and not tables.cell("a").is_number
    runs = [
        comparison.Run(pathlib.Path(), {"seed": i, "metrics": {"f1": i / 4}})
        for i in (1, 2)
    ]
    both = tables.over_seeds(comparison.Result(tuple(runs)), "f1")
    assert both == tables.Cell("37.5", "25.0 to 50.0; 2 seeds")
    one = tables.over_seeds(comparison.Result((runs[0],)), "f1")
    assert one == tables.Cell("25.0", "1 seed")
