from gpt1_keras.sample_world import world


def test_facts_hold_together():
    made = world.build_world(0, 0)
    assert 50 < len(made.people) < 90 and len(made.towns) == world.NUM_TOWNS
    trades = [p.traits["trade"] for p in made.people if "trade" in p.traits]
    assert len(set(trades)) == len(trades) and "healer" in trades
    for person in made.people:
        traits = person.traits
        if "wife" in traits:
            assert traits["wife"].traits["husband"] is person
        if "best friend" in traits:
            friend = traits["best friend"]
            assert friend.traits["best friend"] is person


def test_worlds_share_no_names():
    worlds = [world.build_world(0, index) for index in range(7)]
    names = [p.first for made in worlds for p in made.people]
    names += [town.name for made in worlds for town in made.towns]
    assert len(set(names)) == len(names)
    assert world.build_world(1, 0).people[0].full != worlds[0].people[0].full


def test_alternatives_are_false():
    made = world.build_world(0, 0)
    for person in made.people[:9]:
        for fact in made.facts(person):
            others = made.alternatives(fact)
            assert len(others) >= 2 and fact.value not in others
            claim = world.with_value(fact, others[0])
            assert claim.person.traits[fact.relation] == others[0]
            assert person.traits[fact.relation] == fact.value
