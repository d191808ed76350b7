"""Events, plots, and stories in which people play the roles of a plot."""

import dataclasses
import functools
import re

from gpt1_keras.sample_world import tables
from gpt1_keras.sample_world import world as world_module

GLAD = ("happy", "proud", "grateful", "relieved")
UNHAPPY = ("sad", "angry", "afraid", "ashamed", "worried")
TIMES = (
    "early in the morning",
    "in the morning",
    "before noon",
    "at noon",
    "in the afternoon",
    "towards evening",
    "in the evening",
    "late in the evening",
)
_SLOT = re.compile(r"\{(\w+)")
_VERB = re.compile(r"<[^>]*>")
# Negating a verb beside one of these would not negate the whole clause.
_NEGATION = re.compile(r"\b(no|not|nobody|nothing|only|could)\b")
_CLAUSES = {
    "=": "said",
    ">": "implied",
    "!": "opposed",
    "-": "before",
    "+": "after",
    "&": "reasons",
}


@dataclasses.dataclass(frozen=True)
class EventKind:
    """A kind of event: templates over its roles (see `sentences`)."""

    slots: frozenset  # the roles that `said` names
    said: tuple  # clauses that state the event
    implied: tuple  # clauses that are true because of it
    opposed: tuple  # clauses that are false because of it
    before: tuple  # sentences that lead up to it
    after: tuple  # sentences that follow it
    reasons: tuple  # clauses with "because" and a pronoun
    questions: tuple  # (question, answer)
    speeches: tuple  # (speaker role, hearer role, words)
    moods: dict  # {role: mood}


@dataclasses.dataclass(frozen=True, eq=False)
class Event:
    """Something that happened: a kind with its roles filled."""

    kind: EventKind
    roles: dict

    @property
    def people(self):
        """The persons whom the clauses name, in the order of the roles."""
        named = self.kind.slots
        return [self.roles[role] for role in "abcd" if role in named]


@dataclasses.dataclass(frozen=True)
class Plot:
    """A plot of plots.txt."""

    titles: tuple  # templates of chapter titles
    roles: dict  # {role: constraint or ""} in casting order
    settings: dict  # {role: "{@gift}"}, the fillers of roles of things
    events: tuple  # (name of the kind, {role: role that fills it})

    @property
    def kinds(self):
        """The names of the kinds of events in it."""
        return {kind for kind, _ in self.events}


@dataclasses.dataclass(frozen=True)
class Story:
    """A plot with every role filled: what one chapter is about."""

    plot: Plot
    world: world_module.World
    town: world_module.Town
    roles: dict
    events: list

    @property
    def people(self):
        """The persons of the events, each once."""
        found = [person for event in self.events for person in event.people]
        return list(dict.fromkeys(found))


@functools.cache
def slots(template):
    """Return the set of roles that a template names."""
    return frozenset(_SLOT.findall(template))


def can_be_negated(clause):
    """Return whether the negated tense negates the whole clause."""
    return len(_VERB.findall(clause)) == 1 and not _NEGATION.search(clause)


@functools.cache
def kinds():
    """Return {name: EventKind} of events.txt."""
    events = tables.sections("events")
    return {name: _kind(entries) for name, entries in events.items()}


def _kind(entries):
    found = {field: [] for field in _CLAUSES.values()}
    questions, speeches, moods = [], [], {}
    for entry in entries:
        mark, text = entry[0], entry[2:]
        if mark == "~":
            moods = dict(part.split() for part in text.split(", "))
        elif mark == "?":
            questions.append(tuple(text.split(" ? ")))
        elif mark == '"':
            people, said = text.split(": ", 1)
            speeches.append((*people.split(), said))
        else:
            found[_CLAUSES[mark]].append(text)
    texts = {field: tuple(clauses) for field, clauses in found.items()}
    return EventKind(
        slots=slots(" ".join(texts["said"])),
        questions=tuple(questions),
        speeches=tuple(speeches),
        moods=moods,
        **texts,
    )


@functools.cache
def plots():
    """Return a tuple of the Plots of plots.txt."""
    return tuple(
        _plot(dict(entry.split(": ", 1) for entry in entries))
        for entries in tables.sections("plots").values()
    )


def _plot(lines):
    events = []
    for entry in lines["events"].split(", "):
        kind, *renamed = entry.split()
        events.append((kind, dict(role.split("=") for role in renamed)))
    settings = lines.get("set", "")
    return Plot(
        titles=tuple(lines["titles"].split(" | ")),
        roles={
            role.partition("=")[0]: role.partition("=")[2]
            for role in lines["roles"].split()
        },
        settings=dict(s.split(" = ") for s in settings.split("; ") if s),
        events=tuple(events),
    )


def cast_story(plot, world, town, draws, people=()):
    """Return a Story of the plot, set in a town; None if a role has nobody.

    `people` are cast first, if they fit.
    """
    cast = world.cast(town, draws)
    wanted = list(people)
    roles = {
        "town": town.name,
        "river": town.river,
        "place": draws.pick(town.places),
    }
    taken = []
    for role, constraint in plot.roles.items():
        for pool in (wanted, cast, world.people):
            free = [
                person
                for person in pool
                if person not in taken and _fits(person, constraint)
            ]
            if free:
                break
        else:
            return None
        roles[role] = draws.pick(free)
        taken.append(roles[role])
    for role, setting in plot.settings.items():
        roles[role] = _fill(setting, roles, draws)
    events = []
    for kind, renamed in plot.events:
        own = {role: roles[source] for role, source in renamed.items()}
        events.append(Event(kinds()[kind], {**roles, **own}))
    return Story(plot, world, town, roles, events)


def _fits(person, constraint):
    """Return whether a person can play a role with the constraint."""
    traits = person.traits
    if constraint == "grown":
        return "trade" in traits
    if constraint == "pet":
        return "pet_kind" in traits
    return constraint in ("", traits.get("trade"))


def _fill(setting, roles, draws):
    """Return the text of "{@gift}", "{a.thing}" or "{breakable}"."""
    name = setting.strip("{}")
    if name.startswith("@"):
        return draws.pick(tables.words(name[1:]))
    role, _, trait = name.partition(".")
    return roles[role].traits[trait] if trait else roles[role]
