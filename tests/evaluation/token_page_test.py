import re

from gpt1_keras.evaluation import text_view
from tests.evaluation import report_test


def test_the_less_probable_the_darker():
    tokens = text_view.surprise(["a ", "b", "c"], [0.0, -5.0, -40.0])
    assert [token.shade for token in tokens] == [0.0, 0.5, 1.0]
    assert tokens[1].note == "log-probability -5.00, probability 0.0067"


def test_the_largest_share_is_the_darkest():
    tokens = text_view.attended(["a ", "b"], [0.2, 0.8])
    assert [token.shade for token in tokens] == [0.25, 1.0]
    assert tokens[0].note == "20.0 % of the attention"


def test_page_stands_alone_and_escapes(tmp_path):
    tokens = text_view.surprise(["<b> ", "\u23ce", "x"], [-1.0, -2.0, -3.0])
    path = text_view.write(
        tmp_path / "tokens.html",
        [text_view.Text("one & two", tokens, ["a note"])],
        title="a title",
        legend="dark is rare",
    )
    text = path.read_text(encoding="utf-8")
    page = report_test.Page(text)
    assert "script" not in page.tags and "link" not in page.tags
    assert page.tags.count("span") == 3 and page.tags.count("br") == 1
    assert "http" not in text and "url(" not in text
    assert ">&lt;b&gt; </span>" in text and "one &amp; two" in text
    assert re.findall(r"rgba\(.*?, ([\d.]+)\)", text) == [
        *("0.100", "0.200"),
        "0.300",
    ]
