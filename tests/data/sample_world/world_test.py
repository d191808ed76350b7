import pytest

from gpt1_keras.data.sample_world import population


@pytest.fixture(scope="module", params=[0, 1, 2])
def small_world(request):
    return population.build_world(7, request.param)


def test_facts_hold_and_their_alternatives_do_not(small_world):
    for person in small_world.people[::5]:
        facts = small_world.facts(person)
        assert len(facts) >= 9
        relations = [fact.relation for fact in facts]
        assert len(relations) == len(set(relations))
        for fact in facts:
            assert small_world.holds(person, fact.relation, fact.value)
            wrong = small_world.alternatives(fact)
            assert len(wrong) >= 2
            for value in wrong[:5]:
                assert not small_world.holds(person, fact.relation, value)


def test_lookups(small_world):
    person = small_world.people[3]
    assert small_world.by_name(person.full) is person
    assert small_world.by_name("Nobody Known") is None
    assert small_world.town(person.home).name == person.home
