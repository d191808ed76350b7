"""Fill a world: towns, families, trades, traits and friendships."""

from gpt1_keras.data.sample_world import draws as draws_module
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import names
from gpt1_keras.data.sample_world import world

NUM_TOWNS = 4
FAMILIES_PER_TOWN = 4
# Most names of each kind that one world can need.
NAME_SHARES = {
    "female": 64,
    "male": 64,
    "surname": 32,
    "town": NUM_TOWNS,
    "river": NUM_TOWNS,
    "pet": 64,
}
# Trades that plots ask for by name; every world has them.
NEEDED_TRADES = ("healer", "baker", "carpenter", "innkeeper", "teacher")


def build_world(seed, index):
    """Return world number `index` of the corpus with this seed."""
    draws = draws_module.Draws("world", seed, index)
    namer = names.Namer(seed, index, NAME_SHARES)
    towns = [_town(draws, namer) for _ in range(NUM_TOWNS)]
    people, kin = [], {}
    for town in towns:
        for _ in range(FAMILIES_PER_TOWN):
            _family(draws, namer, town, people, kin)
    _give_trades(draws, people)
    _give_traits(draws, namer, people)
    _give_friends(draws, people, kin)
    return world.World(towns, people, kin)


def _town(draws, namer):
    places = {}
    for kind, preposition, nouns, toward in library.rows("places"):
        noun = draws.pick([noun.strip() for noun in nouns.split(",")])
        places[kind] = world.Place(preposition, noun, f"{toward} {noun}")
    return world.Town(namer.next("town"), namer.next("river"), places)


def _family(draws, namer, town, people, kin):
    """Add a couple, one to three children and perhaps a grandparent."""
    surname = namer.next("surname")

    def born(gender, age):
        first = namer.next("female" if gender == "f" else "male")
        person = world.Person(
            len(people), first, surname, gender, age, town.name
        )
        people.append(person)
        return person

    def relate(person, relation, other):
        kin.setdefault((person.index, relation), []).append(other.index)

    father, mother = born("m", "grown"), born("f", "grown")
    relate(father, "wife", mother)
    relate(mother, "husband", father)
    children = []
    for number in range(1 + draws.below(3)):
        age = "young" if number == 0 and draws.chance(0.5) else "child"
        children.append(born(draws.pick("fm"), age))
    pairs = [
        (parent, child) for parent in (father, mother) for child in children
    ]
    if draws.chance(0.4):
        pairs.append((born(draws.pick("fm"), "old"), father))
    for parent, child in pairs:
        relate(parent, "daughter" if child.gender == "f" else "son", child)
        relate(child, "mother" if parent.gender == "f" else "father", parent)
    for child in children:
        for other in children:
            if other is not child:
                sibling = "sister" if other.gender == "f" else "brother"
                relate(child, sibling, other)


def _give_trades(draws, people):
    """Give every grown person a trade that no one else in the world has."""
    table = {row[0]: row for row in library.rows("trades")}
    others = [trade for trade in table if trade not in NEEDED_TRADES]
    trades = [*NEEDED_TRADES, *draws.shuffled(others)]
    workers = draws.shuffled([p for p in people if p.age != "child"])
    workers.sort(key=lambda person: person.age != "grown")
    for person, trade in zip(workers, trades, strict=False):
        person.trade = trade
        person.tool, person.ware, person.task, person.workplace = table[trade][
            1:
        ]


def _give_traits(draws, namer, people):
    """Give temper, looks, food, fear, wish, treasure and pet."""
    columns = {
        name: _cycle(draws, library.words(name), len(people))
        for name in ("food", "fear", "treasure", "hair", "eyes", "pet_kind")
    }
    wishes = _cycle(
        draws, [row[1] for row in library.rows("wishes")], len(people)
    )
    tempers = _cycle(draws, library.rows("tempers"), len(people))
    for i, person in enumerate(people):
        person.temper, valence = tempers[i]
        person.good_temper = valence == "good"
        person.food = columns["food"][i]
        person.fear = columns["fear"][i]
        person.thing = columns["treasure"][i]
        person.hair = columns["hair"][i]
        person.eyes = columns["eyes"][i]
        person.wish = wishes[i]
        if person.age == "old" and person.hair not in ("white", "grey"):
            person.hair = draws.pick(("white", "grey"))
        if draws.chance(0.6):
            person.pet_kind = columns["pet_kind"][i]
            person.pet_colour = draws.pick(library.words("pet_colour"))
            person.pet_name = namer.next("pet")


def _cycle(draws, items, count):
    """Return `count` items; all come up before any comes up again."""
    found = []
    while len(found) < count:
        found.extend(draws.shuffled(items))
    return found[:count]


def _give_friends(draws, people, kin):
    """Pair people of one town and about one age as best friends."""
    waiting = {}
    for person in draws.shuffled(people):
        age = "child" if person.age == "child" else "grown"
        key = (person.home, age)
        other = waiting.get(key)
        if other is None:
            waiting[key] = person
        elif other.surname != person.surname:
            waiting[key] = None
            kin[(person.index, "best friend")] = [other.index]
            kin[(other.index, "best friend")] = [person.index]
