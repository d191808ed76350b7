"""Towns, families, and facts about people."""

import dataclasses
import functools

from gpt1_keras.sample_world import draws as draws_module
from gpt1_keras.sample_world import tables

NUM_TOWNS = 4
FAMILIES_PER_TOWN = 4
# Of the people of other towns, how many a story of one town may involve.
NUM_VISITORS = 6
KIN = (
    *("father", "mother", "husband", "wife", "son", "daughter"),
    *("brother", "sister", "best friend"),
)
# What facts are about, in the order in which they are listed.
RELATIONS = (
    *("trade", "home", "temper", "food", "fear", "wish", "thing"),
    *("pet_kind", "pet_name", *KIN),
)
# Kind of name: its syllables in words.txt, and how many a world may use.
_NAMES = {
    "f": ("name_start", "female_end", 64),
    "m": ("name_start", "male_end", 64),
    "surname": ("surname_start", "surname_end", 32),
    "town": ("town_start", "town_end", NUM_TOWNS),
    "river": ("river_start", "river_end", NUM_TOWNS),
    "pet": ("pet_start", "pet_end", 64),
}
# Trades that plots require by name; every world has them.
_NEEDED_TRADES = ("healer", "carpenter")


@dataclasses.dataclass(eq=False)
class Person:
    """One person."""

    first: str  # first name, unique in a corpus
    surname: str
    gender: str  # "f" or "m"
    age: str  # "child", "young", "grown" or "old"
    # {relation: text, or Person for kin}, and details such as the tool of a
    # trade; templates name them as `{a.food}`.
    traits: dict

    @property
    def full(self):
        """First name and surname."""
        return f"{self.first} {self.surname}"


@dataclasses.dataclass(frozen=True)
class Fact:
    """`relation` of `person` is `value`: a Person for kin, else a text."""

    person: Person
    relation: str
    value: object


def name_of(value):
    """Return how texts name a person, or any other value of a fact."""
    return value.full if isinstance(value, Person) else value


def with_value(fact, value):
    """Return the Fact with another value, true of a copy of the person."""
    traits = {**fact.person.traits, fact.relation: value}
    person = dataclasses.replace(fact.person, traits=traits)
    return Fact(person, fact.relation, value)


@dataclasses.dataclass(frozen=True)
class Town:
    """A town, its river and its places ("by the old mill")."""

    name: str
    river: str
    places: list


@dataclasses.dataclass(frozen=True)
class World:
    """Towns and people of one series of books."""

    towns: list
    people: list

    def facts(self, person):
        """Return a list of every Fact of the person."""
        return [
            Fact(person, relation, person.traits[relation])
            for relation in RELATIONS
            if relation in person.traits
        ]

    def alternatives(self, fact):
        """Return values of the same kind that make the fact false."""
        if isinstance(fact.value, Person):
            return [
                person
                for person in self.people
                if person.gender == fact.value.gender
                and person not in (fact.person, fact.value)
            ]
        values = [p.traits.get(fact.relation) for p in self.people]
        return [
            value
            for value in dict.fromkeys(values)
            if value and value != fact.value
        ]

    def cast(self, town, draws):
        """Return the people whom a story of the town may involve."""
        natives = [p for p in self.people if p.traits["home"] == town.name]
        others = [p for p in self.people if p.traits["home"] != town.name]
        return natives + draws.sample(others, NUM_VISITORS)


@functools.lru_cache(maxsize=16)
def build_world(seed, index):
    """Return World number `index` of the corpus with this seed."""
    draws = draws_module.Draws("world", seed, index)
    names = {
        kind: iter(_names(seed, kind, index * share, share))
        for kind, (_, _, share) in _NAMES.items()
    }
    towns, people = [], []
    for _ in range(NUM_TOWNS):
        choices = [choice.split(", ") for _, choice in tables.rows("place")]
        places = list(map(draws.pick, choices))
        towns.append(Town(next(names["town"]), next(names["river"]), places))
        for _ in range(FAMILIES_PER_TOWN):
            people += _family(draws, names, towns[-1].name)
    _give_trades(draws, people)
    _give_traits(draws, people, names["pet"])
    _give_friends(draws, people)
    return World(towns, people)


def _names(seed, kind, start, count):
    """Return `count` names of the pool from `start`, wrapping around."""
    pool = _pools(seed)[kind]
    return [pool[i % len(pool)] for i in range(start, start + count)]


@functools.cache
def _pools(seed):
    """Return {kind: names in random order}; no name is in two pools."""
    taken = set(tables.words("names_not_used"))
    found = {}
    for kind, (start, end, _) in _NAMES.items():
        joined = [
            left + right
            for left in tables.words(start)
            for right in tables.words(end)
        ]
        free = [name for name in dict.fromkeys(joined) if name not in taken]
        taken.update(free)
        found[kind] = draws_module.Draws("names", seed, kind).shuffled(free)
    return found


def _family(draws, names, home):
    """Return a couple, one or two children, perhaps a grandparent."""
    surname = next(names["surname"])

    def born(gender, age):
        nouns = ("girl", "boy") if age == "child" else ("woman", "man")
        kind = nouns[gender == "m"]
        traits = {"home": home, "kind": kind}
        return Person(next(names[gender]), surname, gender, age, traits)

    father, mother = born("m", "grown"), born("f", "grown")
    father.traits["wife"] = mother
    mother.traits["husband"] = father
    ages = ("young" if draws.chance(0.5) else "child", "child")
    genders = draws.pick(("f", "m", "fm", "mf"))
    children = [born(g, age) for g, age in zip(genders, ages, strict=False)]
    pairs = [(p, child) for p in (father, mother) for child in children]
    found = [father, mother, *children]
    if draws.chance(0.5):
        found.append(born(draws.pick("fm"), "old"))
        pairs.append((found[-1], father))
    for parent, child in pairs:
        parent.traits["daughter" if child.gender == "f" else "son"] = child
        child.traits["mother" if parent.gender == "f" else "father"] = parent
    if len(children) == 2:
        for child, other in (children, children[::-1]):
            sibling = "sister" if other.gender == "f" else "brother"
            child.traits[sibling] = other
    return found


def _give_trades(draws, people):
    """Give people, except children, trades that nobody else has."""
    table = {row[0]: row for row in tables.rows("trade")}
    others = [trade for trade in table if trade not in _NEEDED_TRADES]
    trades = [*_NEEDED_TRADES, *draws.shuffled(others)]
    workers = draws.shuffled([p for p in people if p.age != "child"])
    workers.sort(key=lambda person: person.age != "grown")
    columns = ("trade", "tool", "ware", "task", "workplace")
    for person, trade in zip(workers, trades, strict=False):
        person.traits.update(zip(columns, table[trade], strict=True))


def _give_traits(draws, people, pet_names):
    """Give temper, food, fear, wish, treasure, eyes and pet."""
    columns = {}
    for name in ("temper", "food", "fear", "wish", "thing", "eyes"):
        columns[name] = []
        # Every entry of a list is used before any repeats.
        while len(columns[name]) < len(people):
            columns[name] += draws.shuffled(tables.words(name))
    for number, person in enumerate(people):
        for name, entries in columns.items():
            person.traits[name] = entries[number]
        if draws.chance(0.6):
            for name in ("pet_kind", "pet_colour"):
                person.traits[name] = draws.pick(tables.words(name))
            person.traits["pet_name"] = next(pet_names)


def _give_friends(draws, people):
    """Pair people of one town and about one age as best friends."""
    waiting = {}
    for person in draws.shuffled(people):
        key = person.traits["home"], person.age == "child"
        other = waiting.pop(key, None)
        if other is None or other.surname == person.surname:
            waiting[key] = person
        else:
            person.traits["best friend"] = other
            other.traits["best friend"] = person
