import re

import pytest

from gpt1_keras.data.sample_world import population
from gpt1_keras.data.sample_world import voices

WORLD = population.build_world(2, 0)


@pytest.fixture
def pair():
    man = next(p for p in WORLD.people if p.gender == "m" and p.trade)
    woman = next(p for p in WORLD.people if p.gender == "f" and p.trade)
    return man, woman


def test_the_speaker_is_i_and_the_hearer_you(teller, pair):
    man, woman = pair
    voice = voices.Voices(teller)
    for _ in range(30):
        turn = voice.turn(man, woman, "{s} <see> {h:o}. {h} <see> {s:o}.")
        quoted = " ".join(re.findall(r'"([^"]*)"', turn))
        assert quoted.rstrip(".,").replace(",", ".") == "I saw you. You saw me"


def test_i_comes_last(teller, pair):
    man, woman = pair
    other = WORLD.people[-1]
    voice = voices.Voices(teller)
    turn = voice.turn(man, woman, "{s} and {x} <they:go> home.", x=other)
    assert f"{other.first} and I went home" in turn


def test_tags_name_the_speaker_and_fit_the_mark(teller, pair):
    man, woman = pair
    voice = voices.Voices(teller)
    for template, verbs in (
        ("is it so?", "asked"),
        ("how good!", "cried|called|exclaimed"),
        ("it is so.", "said|remarked|began|observed"),
    ):
        for _ in range(40):
            voice.pause()
            turn = voice.turn(man, woman, template)
            assert turn.count('"') == 2
            assert man.first in turn or f"the {man.trade}" in turn.lower()
            if turn.startswith('"'):
                assert re.search(rf'[,?!]" ({verbs}) ', turn), turn


def test_only_an_answer_goes_without_its_speaker(teller, pair):
    man, woman = pair
    voice = voices.Voices(teller)
    seen = set()
    for _ in range(60):
        voice.pause()
        first = voice.turn(man, woman, "is it so?")
        assert first != '"Is it so?"'
        seen.add(voice.turn(woman, man, "yes."))
    assert '"Yes."' in seen
    assert any("she" in turn for turn in seen)
    assert not any(" he " in turn for turn in seen)


def test_what_is_mine(teller, pair):
    man, woman = pair
    voice = voices.Voices(teller)
    roles = {"a": man, "b": woman}
    template = "{b:full} <be> the elder sister of {a:full_o}"
    assert voice.clause(man, WORLD.people[-1], template, roles) == (
        f"{woman.full} was my elder sister"
    )
    assert (
        voice.clause(woman, man, template, roles) == "I was your elder sister"
    )
