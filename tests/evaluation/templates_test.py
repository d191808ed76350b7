import jinja2
import pytest

from gpt1_keras.evaluation import text_view


def test_text_is_escaped():
    found = text_view.render(
        "token_page.html.jinja", title="<a> & b", legend="", texts=[]
    )
    assert "<h1>&lt;a&gt; &amp; b</h1>" in found


def test_what_a_template_names_must_be_given():
    with pytest.raises(jinja2.UndefinedError, match="legend"):
        text_view.render("token_page.html.jinja", title="", texts=[])
