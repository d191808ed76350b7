import pytest

from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import population
from gpt1_keras.data.sample_world import situations


@pytest.fixture
def source():
    return situations.build(3, "test")


def test_the_people_are_those_of_the_corpus_of_the_same_seed(source):
    known = {
        person.full
        for index in range(situations.NUM_WORLDS)
        for person in population.build_world(3, index).people
    }
    for _ in range(20):
        assert {p.full for p in source.situation().people} <= known


def test_name_and_seed_decide(source):
    def titles(seed, name):
        drawn = situations.build(seed, name)
        return [drawn.situation().story.roles["a"].full for _ in range(9)]

    assert titles(3, "test") == titles(3, "test")
    assert titles(3, "test") != titles(3, "other")
    assert titles(3, "test") != titles(4, "test")


def test_another_story_shares_people_but_nothing_that_happens(source):
    num_shared = 0
    for _ in range(100):
        here = source.situation()
        there = source.other(here)
        happened = {event.kind.name for event in here.story.events}
        assert not happened & {e.kind.name for e in there.story.events}
        num_shared += bool(set(here.people) & set(there.people))
    assert num_shared > 50


def test_an_outsider_is_like_the_person_and_not_in_the_story(source):
    num_found = 0
    for _ in range(50):
        here = source.situation()
        person = here.people[0]
        other = source.outsider(here, person)
        if other is None:
            continue
        num_found += 1
        assert other.gender == person.gender and other.age == person.age
        assert other not in here.story.roles.values()
    assert num_found > 30


def test_templates_that_can_be_negated():
    assert situations.can_be_negated("{a} <find> the {thing}")
    assert not situations.can_be_negated("{a} <have> no {thing}")
    assert not situations.can_be_negated("{a} <come> and <&see> it")
    found = [
        text
        for kind in events.kinds().values()
        for text in kind.paraphrases
        if situations.can_be_negated(text)
    ]
    assert len(found) > 50


def test_exact_templates_leave_nothing_to_chance():
    lines = ["{a} <sing>", "{a} <sing> a {@show}", "{a} <sing> [well|badly]"]
    assert situations.exact(lines) == ["{a} <sing>"]


def test_sentences_end_and_take_surnames(source):
    person = source.world().people[0]
    text = source.say("{a} <be> here", {"a": person}, "present")
    assert text == f"{person.first} is here."
    text = source.with_surname(text)
    assert text == f"{person.full} is here."
    assert source.with_surname(text) == text
    assert source.say("where <be> {a}?", {"a": person}).endswith("?")
