import pytest

from gpt1_keras.data.sample_world import population


@pytest.fixture(scope="module", params=[0, 1, 2])
def small_world(request):
    return population.build_world(7, request.param)


def test_people_are_told_apart_by_first_name_and_trade(small_world):
    people = small_world.people
    assert len({p.first for p in people}) == len(people)
    trades = [p.trade for p in people if p.trade]
    assert len(trades) == len(set(trades))
    assert set(population.NEEDED_TRADES) <= set(trades)
    assert not any(p.trade for p in people if p.age == "child")
    assert all(p.trade for p in people if p.age == "grown")


def test_kinship_holds_both_ways(small_world):
    for person in small_world.people:
        for parent in ("father", "mother"):
            for other in small_world.related(person, parent):
                children = small_world.related(
                    other, "daughter" if person.gender == "f" else "son"
                )
                assert person in children
                assert other.gender == ("m" if parent == "father" else "f")
        for wife in small_world.related(person, "wife"):
            assert small_world.related(wife, "husband") == [person]
        for friend in small_world.related(person, "best friend"):
            assert small_world.related(friend, "best friend") == [person]
            assert friend.home == person.home
        for sister in small_world.related(person, "sister"):
            assert sister.gender == "f" and sister is not person


def test_the_world_is_a_function_of_seed_and_index():
    first = population.build_world(1, 0)
    again = population.build_world(1, 0)
    other = population.build_world(2, 0)
    assert [vars(p) for p in first.people] == [vars(p) for p in again.people]
    assert [p.full for p in first.people] != [p.full for p in other.people]
