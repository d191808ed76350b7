"""Who lives where, and what is true of them: the facts of one small world."""

import dataclasses

KIN = ("father", "mother", "husband", "wife", "son", "daughter")
SIBLINGS = ("brother", "sister")
# What tells several sons or sisters apart, by their number; eldest first.
RANKS = (
    (),
    ("",),
    ("elder ", "younger "),
    ("eldest ", "second ", "youngest "),
)
# Relations whose value is a text, and the attribute of Person that holds it.
TRAITS = (
    "trade",
    "home",
    "temper",
    "food",
    "fear",
    "wish",
    "thing",
    "pet_kind",
    "pet_name",
    "hair",
    "eyes",
)


@dataclasses.dataclass(frozen=True)
class Place:
    """Somewhere in a town: "in" + "the old mill"."""

    preposition: str
    noun: str
    toward: str

    def __str__(self):
        return f"{self.preposition} {self.noun}"


@dataclasses.dataclass(frozen=True)
class Town:
    """A town, its river, and its places by kind ("mill", "market")."""

    name: str
    river: str
    places: dict

    def __str__(self):
        return self.name


@dataclasses.dataclass(eq=False)
class Person:
    """One person; empty text where there is nothing to say.

    Attributes that are texts can stand in templates as `{a.food}`.
    """

    index: int
    first: str
    surname: str
    gender: str  # "f" or "m"
    age: str  # "child", "young", "grown" or "old"
    home: str
    temper: str = ""
    good_temper: bool = True
    food: str = ""
    fear: str = ""
    wish: str = ""
    thing: str = ""
    hair: str = ""
    eyes: str = ""
    trade: str = ""
    tool: str = ""
    ware: str = ""
    task: str = ""
    workplace: str = ""
    pet_kind: str = ""
    pet_colour: str = ""
    pet_name: str = ""

    @property
    def full(self):
        """First name and surname."""
        return f"{self.first} {self.surname}"

    @property
    def kind(self):
        """man, woman, boy or girl."""
        child, grown = (
            ("girl", "woman") if self.gender == "f" else ("boy", "man")
        )
        return child if self.age == "child" else grown

    def __repr__(self):
        return f"Person({self.full})"


@dataclasses.dataclass(frozen=True)
class Fact:
    """`relation` of `person` is `value`: a Person for kin, else a text."""

    person: Person
    relation: str
    value: object


class World:
    """Towns and people of one series of books.

    Attributes:
        towns: list of Town.
        people: list of Person, by index.
    """

    def __init__(self, towns, people, kin):
        self.towns = towns
        self.people = people
        self._kin = kin  # {(index, relation): [index, ...]}
        self._facts = {}

    def town(self, name):
        """Return the Town of that name."""
        return next(town for town in self.towns if town.name == name)

    def related(self, person, relation):
        """Return the people who are the `relation` of `person`."""
        indices = self._kin.get((person.index, relation), ())
        return [self.people[index] for index in indices]

    def facts(self, person):
        """Return a list of every Fact of the person, always in one order."""
        if person.index not in self._facts:
            self._facts[person.index] = self._find_facts(person)
        return self._facts[person.index]

    def _find_facts(self, person):
        found = [
            Fact(person, relation, getattr(person, relation))
            for relation in TRAITS
            if getattr(person, relation)
        ]
        for relation in (*KIN, *SIBLINGS, "best friend"):
            relatives = self.related(person, relation)
            ranks = RANKS[len(relatives)]
            for rank, relative in zip(ranks, relatives, strict=True):
                found.append(Fact(person, f"{rank}{relation}", relative))
        return found

    def holds(self, person, relation, value):
        """Tell whether the statement is true in this world."""
        if relation in TRAITS:
            return getattr(person, relation) == value
        return value in self.related(person, relation) or any(
            fact.relation == relation and fact.value is value
            for fact in self.facts(person)
        )

    def alternatives(self, fact):
        """Return values of the same kind that make the fact false."""
        if fact.relation in TRAITS:
            seen = dict.fromkeys(getattr(p, fact.relation) for p in self.people)
            return [value for value in seen if value and value != fact.value]
        return [
            other
            for other in self.people
            if other.gender == fact.value.gender
            and other is not fact.person
            and not self.holds(fact.person, fact.relation, other)
        ]

    def by_name(self, full):
        """Return the Person with that full name, or None."""
        return next((p for p in self.people if p.full == full), None)
