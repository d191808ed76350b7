import re

import jinja2
import numpy as np
import pytest
from matplotlib import image

from gpt1_keras.evaluation import text_view
from tests.evaluation import report_test


def uniform(length):
    lower = np.tril(np.ones((length, length)))
    return lower / lower.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("length", [1, 3, 80])
def test_one_head(tmp_path, length):
    pieces = [f"${i}_ " for i in range(length)]  # no mathematics
    path = tmp_path / "plots" / "a.png"
    shares = uniform(length)
    assert text_view.one_head(shares, pieces, path, title="$x") == path
    greys = len(np.unique(image.imread(path)[..., 0]))
    assert greys > min(length, 30)


@pytest.mark.parametrize(
    "heads, length, panels",
    [(1, 1, (1, 1)), (3, 5, (2, 2)), (12, 5, (4, 3)), (4, 40, (2, 2))],
)
def test_all_heads_have_a_panel(tmp_path, figures, heads, length, panels):
    text_view.all_heads(
        np.stack([uniform(length)] * heads),
        [f"${i}_ " for i in range(length)],
        tmp_path / "a.png",
        title="layer",
    )
    (figure,) = figures
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [f"head {i}" for i in range(heads)]
    grid = figure.axes[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == panels
    named = figure.axes[0].get_yticklabels()[0].get_text() == "$0_"
    assert named == (length <= 15)


def test_shades():
    tokens = text_view.surprise(["a ", "b", "c"], [0.0, -5.0, -40.0])
    assert [token.shade for token in tokens] == [0.0, 0.5, 1.0]
    assert tokens[1].note == "log-probability -5.00, probability 0.0067"
    tokens = text_view.attended(["a ", "b"], [0.2, 0.8])
    assert [token.shade for token in tokens] == [0.25, 1.0]
    assert tokens[0].note == "20.0 % of the attention"


def test_page_stands_alone_and_escapes(tmp_path):
    tokens = text_view.surprise(["<b> ", "\u23ce", "x"], [-1.0, -2.0, -3.0])
    path = text_view.write(
        tmp_path / "tokens.html",
        [text_view.Text("one & two", tokens, ["a note"])],
        title="a <title>",
        legend="dark is rare",
    )
    text = path.read_text(encoding="utf-8")
    page = report_test.Page(text)
    assert "script" not in page.tags and "link" not in page.tags
    assert page.tags.count("span") == 3 and page.tags.count("br") == 1
    assert "http" not in text and "url(" not in text
    assert ">&lt;b&gt; </span>" in text and "one &amp; two" in text
    assert "<h1>a &lt;title&gt;</h1>" in text
    shades = re.findall(r"rgba\(.*?, ([\d.]+)\)", text)
    assert shades == ["0.100", "0.200", "0.300"]


def test_template_needs_all_that_it_names():
    with pytest.raises(jinja2.UndefinedError, match="legend"):
        text_view.render("token_page.html.jinja", title="", texts=[])
