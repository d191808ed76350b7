import re

import pytest

from gpt1_keras.data.sample_world import labelled_passages


@pytest.fixture(scope="module", params=["race_middle", "race_high"])
def passages(request, drawn):
    return drawn(getattr(labelled_passages, request.param), 600)


def test_form(passages):
    for start in range(0, len(passages), 4):
        asked = passages[start : start + 4]
        assert len({e.text for e in asked}) == 1
        assert len({e.text_pair for e in asked}) == 4
        for e in asked:
            assert len(set(e.choices)) == 4
            assert e.text_pair.endswith("?")
            assert 80 <= len(e.text.split()) <= 150
    counts = [sum(e.label == i for e in passages) for i in range(4)]
    assert min(counts) > 0.18 * len(passages)


def test_answers_stand_in_the_passage(passages):
    judged = 0
    for e in passages:
        right = e.choices[e.label].removesuffix(".")
        if re.match(r"What is (\w+)'s favourite food\?", e.text_pair):
            assert right.lower() in e.text
        elif re.match(
            r"(Who|Whom) (did|broke|found|stole|mended)", e.text_pair
        ):
            name = right.split(" ")[0]
            told = name in e.text
            assert told or "carpenter" in e.text or "little" in e.text, e
        elif re.match(r"Where did .* (meet|get lost)\?", e.text_pair):
            assert right.lower() in e.text.lower(), e
        else:
            continue
        judged += 1
    assert judged > 5


def test_who_mended_it(drawn):
    """Read off middle passages, which name everyone."""
    judged = 0
    for e in drawn(labelled_passages.race_middle, 1200):
        asked = re.match(r"Who (?:mended|found) the ([\w ]+)\?", e.text_pair)
        if not asked:
            continue
        by = re.search(
            rf"{asked[1]} was (?:found|mended) [\w ]*by (\w+)|"
            rf"([A-Z]\w+) (?:mended|repaired|found|came upon) [\w']* ?[\w' ]*"
            rf"{asked[1]}",
            e.text,
        )
        if by:
            assert e.choices[e.label].startswith(by[1] or by[2]), e
            judged += 1
    assert judged > 5
