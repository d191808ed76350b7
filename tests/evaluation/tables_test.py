import html.parser

import markdown_it
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from gpt1_keras.evaluation import tables


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
        [
            {"run": first, f"x{second}": tables.path(second)},
            {"run": tables.Cell(first, f"n {small}")},
        ],
        [note or "n"],
    )
    markdown = markdown_it.MarkdownIt("commonmark")
    markdown.enable(["table", "strikethrough"])
    text = tables.markdown(table)
    shown = Texts(markdown.render(text))
    one, two, three, four, five = map(
        tables.one_line, (title, first, second, f"n {small}", note or "n")
    )
    column = tables.one_line(f"x{second}")
    expected = [f"t {one}", "run", column, two, three, f"{two} ({four})", ""]
    expected += [five] if five else []
    assert shown.found == [each.strip() for each in expected]
    assert shown.tags <= {
        *("p", "strong", "table", "thead", "tbody", "tr", "th", "td", "code"),
    }
