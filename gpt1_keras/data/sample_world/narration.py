"""The narrator: openings, introductions, events, feelings, endings."""

from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import statements

_WINTER = ("December", "January", "February")
_OPEN_PLACES = frozenset(
    "orchard wood meadow hill riverbank lane quarry pond green well".split()
)


class Narrator:
    """Tells in the third person; every method returns one paragraph.

    Attributes:
        world: World.
        teller: language.Teller.
        roles: {role: value} known everywhere in a chapter (town, month).
        when: time of day of the scene, "at noon".
    """

    def __init__(self, world, teller):
        self.world = world
        self.teller = teller
        self.draws = teller.draws
        self.roles = {}
        self.when = ""
        self._known = set()

    def _tell(self, section, **roles):
        """Return a sentence from a section of sentences.txt."""
        template = self.teller.choose(section)
        return self.teller.sentence(template, {**self.roles, **roles})

    def _paragraph(self, sentences):
        self.teller.discourse.clear()
        return " ".join(sentences)

    def _view(self, kind):
        """Return the section that describes such a place at this season."""
        winter = self.roles["month"] in _WINTER and kind in _OPEN_PLACES
        return "at.winter" if winter else f"at.{kind}"

    def weather(self, kind):
        """The sky over the town."""
        return self._paragraph([self._tell(f"weather.{kind}", when=self.when)])

    def arrival(self, people, place, kind):
        """Who is where, and what it looks like there."""
        roles = {"place": place, "a": people[0]}
        sentences = []
        if len(people) > 1:
            roles["b"] = people[1]
            sentences.append(self._tell("arrive.two", **roles))
        else:
            sentences.append(self._tell("arrive.one", **roles))
        sentences.append(self._tell(self._view(kind), **roles))
        return self._paragraph(sentences)

    def later(self, people, place, kind):
        """The same, some time after the scene before."""
        roles = {"place": place, "a": people[0], "b": people[-1]}
        section = "arrive.two" if len(people) > 1 else "arrive.one"
        arrival = self.teller.clause(
            self.teller.choose(section), {**self.roles, **roles}
        )
        later = self.teller.clause(self.teller.choose("later"), self.roles)
        self.teller.discourse.next_sentence()
        sentences = [
            self.teller.sentence(
                "{later}, {arrival}", {"later": later, "arrival": arrival}
            ),
            self._tell(self._view(kind), **roles),
        ]
        return self._paragraph(sentences)

    def introduction(self, person):
        """Who the person is; shorter for one that the book knows."""
        grown = "grown" if person.trade else "child"
        known = person in self._known
        self._known.add(person)
        if known:
            sentences = [self._tell("introduce.again", a=person)]
            count = 2
        else:
            sentences = [self._tell(f"introduce.{grown}", a=person)]
            if person.trade:
                sentences.append(self._tell("introduce.work", a=person))
            count = 3
        if person.home != str(self.roles["town"]):
            sentences.append(self._tell("introduce.visitor", a=person))
        facts = [
            fact
            for fact in self.world.facts(person)
            if fact.relation not in ("trade", "home")
        ]
        for fact in self.draws.sample(facts, count):
            clause = statements.fact_clause(self.teller, fact, "past")
            sentences.append(self.teller.sentence("{g}.", {"g": clause}))
        return self._paragraph(sentences)

    def event(self, event):
        """What led to it, the event itself, and what it meant."""
        kind = event.kind
        sentences = []
        if kind.before and self.draws.chance(0.75):
            line = self.teller.from_bag(f"-{kind.name}", kind.before)
            roles = {**self.roles, **event.roles}
            sentences.append(self.teller.sentence(line, roles))
        sentences.append(self._tell("event", E=event, time=self.when))
        draw = self.draws.random()
        if kind.entailed and draw < 0.35:
            sentences.append(self._stated(event, ">", "entailed"))
        elif kind.contradicted and draw < 0.45:
            sentences.append(self._stated(event, "!", "not"))
        event.time = f"in {self.roles['month']}"
        return self._paragraph(sentences)

    def aftermath(self, event):
        """What followed; a list of at most one paragraph."""
        lines = self.draws.sample(event.kind.after, 1 + self.draws.below(2))
        roles = {**self.roles, **event.roles}
        sentences = [self.teller.sentence(line, roles) for line in lines]
        return [self._paragraph(sentences)] if sentences else []

    def _stated(self, event, mark, section):
        field = "entailed" if mark == ">" else "contradicted"
        template = self.teller.from_bag(
            f"{mark}{event.kind.name}", getattr(event.kind, field)
        )
        clause = self.teller.clause(template, event.roles)
        return self._tell(section, g=clause)

    def feeling(self, person, mood, event):
        """How the person felt, why, and how one could see it."""
        word = self.draws.pick(library.words(mood))
        return self._paragraph(
            [
                self._tell("feel", a=person, mood=word, E=event),
                self._tell(f"feel.{mood}", a=person),
            ]
        )

    def reason(self, event):
        """Why someone did what he did: a pronoun that the facts resolve."""
        template = self.teller.from_bag(
            f"&{event.kind.name}", event.kind.reasons
        )
        return self._paragraph(
            [self.teller.sentence(f"{template}.", event.roles)]
        )

    def lead(self, topic, speaker, hearer):
        """How a talk about something came about."""
        return self._paragraph(
            [self._tell(f"lead.{topic}", a=speaker, b=hearer)]
        )

    def pause(self, person, place_kind):
        """Something that belongs to no plot: a walk, a meal, a thought."""
        if place_kind == "home":
            kinds = ("meal", "thought", "work")
            if "evening" in self.when:
                kinds = ("meal", "thought", "night")
        else:
            kinds = ("walk", "walk", "thought")
        return self._paragraph(
            [self._tell(f"pause.{self.draws.pick(kinds)}", a=person)]
        )

    def opinions(self, person, good, show, section):
        """What people thought of something, for the most part of one mind.

        `section` is "" for what is shown and ".dish" for what is eaten.
        """
        sentences = [self._tell("opinions.lead", a=person, show=show)]
        for _ in range(4 + self.draws.below(4)):
            liked = good if self.draws.chance(0.85) else not good
            quality, verdict = (
                ("good", "positive") if liked else ("bad", "negative")
            )
            about = f"{quality}_opinion{section}"
            opinion = self._tell(about, show=show)
            sentences.append(f'"{self._tell(f"verdict.{verdict}", g=opinion)}"')
        return self._paragraph(sentences)

    def recap(self, events):
        """The chapter in a few sentences."""
        sentences = [self._tell("recap.lead")]
        sentences.append(self._tell("recap.first", E=events[0]))
        for event in events[1:-1]:
            sentences.append(self._tell("recap.next", E=event))
        sentences.append(self._tell("recap.last", E=events[-1]))
        return self._paragraph(sentences)

    def ending(self, person):
        """A thought and the night."""
        sentences = []
        if self.draws.chance(0.7):
            sentences.append(self._tell("moral", a=person))
        sentences.append(self._tell("night"))
        return self._paragraph(sentences)

    def wish(self, hero, provider, need, wish):
        """What the hero of the book still needs, and who might have it."""
        roles = {"a": hero, "b": provider, "need": need, "wish": wish}
        return self._paragraph(
            [
                self._tell("wish.lead", **roles),
                self._tell("wish.where", **roles),
            ]
        )

    def wish_count(self, hero, provider, need):
        """The hero has it now."""
        return self._paragraph(
            [self._tell("wish.count", a=hero, b=provider, need=need)]
        )
