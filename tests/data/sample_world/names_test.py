from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import names
from gpt1_keras.data.sample_world import population


def test_no_name_stands_in_two_pools():
    pools = names.pools(0)
    everything = [name for pool in pools.values() for name in pool]
    assert len(everything) == len(set(everything))
    assert not set(everything) & set(library.words("names_not_used"))
    assert all(name.isalpha() and name.istitle() for name in everything)


def test_worlds_of_one_corpus_share_no_name():
    def used(index):
        people = population.build_world(0, index).people
        return {name for p in people for name in (p.first, p.surname)}

    assert not used(0) & used(1)
    assert not used(1) & used(6)


def test_the_seed_changes_the_order():
    assert names.pools(0)["female"] != names.pools(1)["female"]
    assert sorted(names.pools(0)["female"]) == sorted(names.pools(1)["female"])
