import pytest

from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import templates


def test_alternatives_and_words(teller):
    seen = {teller.clause("[one|two|] {@flower}", {}) for _ in range(300)}
    flowers = library.words("flower")
    assert {text.split(" ")[0] for text in seen} == {"one", "two", ""}
    assert all(text.split(" ", 1)[1] in flowers for text in seen)


def test_nested_alternatives(teller):
    seen = {teller.clause("[a[b|c]|d]", {}) for _ in range(100)}
    assert seen == {"ab", "ac", "d"}


def test_verbs_agree_with_the_subject_named(teller):
    assert teller.clause("<it:be> <they:be> <&go>", {}, "present") == (
        "is are goes"
    )
    assert teller.clause("<be!>", {}, "pluperfect") == "was"


@pytest.mark.parametrize("text", ["[one|two", "one]", "one|two", "{a", "a}"])
def test_malformed_templates_are_refused(text):
    with pytest.raises(ValueError, match="template"):
        templates.parse(text)


def test_all_templates_of_the_language_parse():
    lines = [
        line
        for section in library.sections("sentences").values()
        for line in section
    ]
    for kind in events.kinds().values():
        lines += (*kind.paraphrases, *kind.before, *kind.after)
    assert len(lines) > 500
    for line in lines:
        assert templates.parse(line), line
