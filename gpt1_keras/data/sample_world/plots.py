"""Plots: what happens in a chapter, as scenes, beats and events, before
anyone tells it."""

import dataclasses
import functools

from gpt1_keras.data.sample_world import events as events_module
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import population
from gpt1_keras.data.sample_world import world as world_module

# Plots that stand at a fixed point of a book and are never drawn at random.
FRAME = ("beginning", "fulfilment")


@dataclasses.dataclass(frozen=True)
class Plot:
    """A plot of plots.txt.

    Attributes:
        name: "lost_thing".
        titles: templates of chapter titles.
        roles: {role: constraint or ""}, in casting order.
        helper: the role that helps `a` out of the trouble, or "".
        weather: kind of weather the plot needs, or "".
        settings: {role: template} of things that fill roles.
        places: {role: kinds of place}.
        scenes: ((people roles, place role), (beat words, ...)) pairs.
    """

    name: str
    titles: tuple
    roles: dict
    helper: str
    weather: str
    settings: dict
    places: dict
    scenes: tuple


@dataclasses.dataclass(frozen=True)
class Beat:
    """One step of a scene.

    Attributes:
        verb: "do", "tell", "feel", "reason", "ask", "chat", ...
        people: Persons named by the beat.
        event: the Event it does or speaks of, or None.
        words: further words ("happy", "good show").
    """

    verb: str
    people: tuple
    event: "events_module.Event | None"
    words: tuple


@dataclasses.dataclass(frozen=True)
class Scene:
    """People at a place in a town, and the beats there."""

    people: tuple
    place: world_module.Place
    place_kind: str
    beats: tuple


@dataclasses.dataclass(frozen=True)
class Story:
    """A plot with everything filled: the data of one chapter.

    Attributes:
        plot: Plot.
        roles: {role: Person, Place or text}.
        scenes: list of Scene.
        events: list of Event in the order in which they happen.
        town: Town.
    """

    plot: Plot
    roles: dict
    scenes: list
    events: list
    town: world_module.Town


@functools.cache
def plots():
    """Return {name: Plot} of plots.txt."""
    return {
        name: _plot(name, lines)
        for name, lines in library.sections("plots").items()
    }


def _plot(name, lines):
    found = {"title": "", "helper": "", "weather": ""}
    roles, settings, places, scenes = {}, {}, {}, []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in found:
            found[word] = rest
        elif word == "roles":
            for entry in rest.split():
                role, _, constraint = entry.partition("=")
                roles[role] = constraint
        elif word in ("set", "place"):
            role, _, value = rest.partition(" = ")
            (settings if word == "set" else places)[role] = value
        elif word == "scene":
            people, _, place = rest.partition(" @ ")
            scenes.append(((tuple(people.split()), place), []))
        else:
            scenes[-1][1].append(tuple(line.split()))
    return Plot(
        name=name,
        titles=tuple(title.strip() for title in found["title"].split("|")),
        roles=roles,
        helper=found["helper"],
        weather=found["weather"],
        settings=settings,
        places={role: tuple(kinds.split()) for role, kinds in places.items()},
        scenes=tuple((head, tuple(beats)) for head, beats in scenes),
    )


def is_trade(constraint):
    """Tell whether a role's constraint names a trade."""
    return constraint in population.NEEDED_TRADES


class Planner:
    """Fills plots with people, places and things of one world."""

    def __init__(self, world, town, cast, draws, teller):
        """`cast`: Persons to draw from; `teller` renders the settings."""
        self.world = world
        self.town = town
        self.cast = cast
        self.draws = draws
        self.teller = teller

    def story(self, plot, *, chapter, fixed=None):
        """Return a Story of the plot.

        Args:
            plot: Plot.
            chapter: number of the chapter, from 1.
            fixed: {role: Person or text} that is given.
        """
        roles = {"town": self.town.name, "river": self.town.river}
        roles.update(fixed or {})
        # Whoever is wanted for a trade comes first: there is only one.
        wanted = sorted(
            plot.roles.items(), key=lambda item: not is_trade(item[1])
        )
        for role, constraint in wanted:
            if role not in roles:
                roles[role] = self._cast(constraint, roles)
        kinds = plot.places.get("spot") or tuple(self.town.places)
        spot_kind = self.draws.pick(kinds)
        roles["spot"] = self.town.places[spot_kind]
        roles["spot_word"] = roles["spot"].noun.split()[-1].capitalize()
        for role, template in plot.settings.items():
            if role not in roles:
                roles[role] = self.teller.clause(template, roles)
        scenes, told = [], []
        for (names, where), lines in plot.scenes:
            place, kind = self._place(where, spot_kind)
            roles["place"] = place
            beats = []
            for words in lines:
                beats.append(self._beat(words, roles, told, chapter))
            people = tuple(roles[name] for name in names)
            scenes.append(Scene(people, place, kind, tuple(beats)))
        return Story(plot, roles, scenes, told, self.town)

    def _beat(self, words, roles, told, chapter):
        verb, rest = words[0], list(words[1:])
        if verb == "do":
            return self._do(rest, roles, told, chapter)
        people = []
        while rest and rest[0] in roles and len(rest[0]) == 1:
            people.append(roles[rest.pop(0)])
        event = told[-1] if told else None
        if verb in ("tell", "lie") and rest:
            kind = rest.pop(0)
            event = next(e for e in reversed(told) if e.kind.name == kind)
        if verb == "opinion":
            good, what = rest
            section = ".dish" if what == "dish" else ""
            rest = [good, roles.get(what, what), section]
        return Beat(verb, tuple(people), event, tuple(rest))

    def _do(self, words, roles, told, chapter):
        own = dict(roles)
        for word in words[1:]:
            role, _, source = word.partition("=")
            own[role] = roles[source]
        event = events_module.Event(
            kind=events_module.kinds()[words[0]],
            roles=own,
            cause=told[-1] if told else None,
            chapter=chapter,
        )
        told.append(event)
        return Beat("do", tuple(event.people), event, ())

    def _place(self, where, spot_kind):
        if where == "home":
            rooms = ("kitchen", "parlour", "front room", "attic")
            noun = f"the {self.draws.pick(rooms)}"
            return world_module.Place("in", noun, f"into {noun}"), "home"
        kind = spot_kind if where == "spot" else where
        kind = kind or self.draws.pick(tuple(self.town.places))
        return self.town.places[kind], kind

    def _cast(self, constraint, roles):
        taken = [value for value in roles.values() if hasattr(value, "gender")]
        for pool in (self.cast, self.world.people):
            free = [
                person
                for person in pool
                if person not in taken and self._fits(person, constraint, roles)
            ]
            if free:
                return self.draws.pick(free)
        raise ValueError(f"nobody in the world is free and {constraint}")

    def _fits(self, person, constraint, roles):
        if not constraint:
            return True
        if constraint == "grown":
            return person.trade != ""
        if constraint == "child":
            return person.age == "child"
        if constraint == "pet":
            return person.pet_kind != ""
        if constraint == "away":
            return person.home != self.town.name
        if constraint == "parent":
            parents = ("father", "mother")
            return any(
                person in self.world.related(roles["a"], parent)
                for parent in parents
            )
        return person.trade == constraint
