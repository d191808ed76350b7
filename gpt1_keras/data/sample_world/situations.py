"""Stories, events, people and facts to draw labelled examples from."""

import dataclasses
import functools
import re

from gpt1_keras.data.sample_world import draws as draws_module
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import plots
from gpt1_keras.data.sample_world import population
from gpt1_keras.data.sample_world import voices
from gpt1_keras.data.sample_world import world as world_module

# As many as the books of a corpus of the default size tell of.
NUM_WORLDS = 7
NUM_VISITORS = 6
_SLOT = re.compile(r"\{(\w+)")
# A capitalised word without another one behind it.
_NAME = re.compile(r"\b[A-Z][a-z]+\b(?! [A-Z])")
_CHANCE = re.compile(r"\{@|\[")
_VERB = re.compile(r"<[^>!]*>")
# Negating a verb beside one of these would not negate the whole clause.
_HAS_NEGATION = re.compile(r"\b(no|not|nobody|nothing|only|could|for)\b")


@functools.cache
def _worlds(seed):
    return tuple(
        population.build_world(seed, index) for index in range(NUM_WORLDS)
    )


@functools.cache
def _surnames(seed):
    """Return {first name: surname} of everyone."""
    people = [person for world in _worlds(seed) for person in world.people]
    return {person.first: person.surname for person in people}


def slots(template):
    """Return the set of roles that a template names."""
    return frozenset(_SLOT.findall(template))


def exact(templates):
    """Return those templates in which no word is left to chance, so that
    each says the same as the others."""
    return [text for text in templates if not _CHANCE.search(text)]


def can_be_negated(template):
    """Tell whether the tense "negated" turns a clause into its negation."""
    single = len(_VERB.findall(template)) == 1
    return single and not _HAS_NEGATION.search(template)


@dataclasses.dataclass(frozen=True)
class Situation:
    """A story, and where it happens.

    Attributes:
        world: world.World.
        story: plots.Story.
    """

    world: world_module.World
    story: plots.Story

    @property
    def people(self):
        """The persons of the story's events, each once."""
        found = [p for event in self.story.events for p in event.people]
        return list(dict.fromkeys(found))


class Situations:
    """Draws situations of the worlds of one seed, without end.

    Attributes:
        draws: Draws.
        teller: language.Teller that uses names, no pronoun unless forced.
        voices: voices.Voices of another teller.
    """

    def __init__(self, seed, draws):
        self.draws = draws
        self.teller = language.Teller(draws, plain=True)
        self.voices = voices.Voices(language.Teller(draws))
        self._seed = seed

    def world(self):
        """Return a World."""
        return self.draws.pick(_worlds(self._seed))

    def situation(self):
        """Return a Situation."""
        return self._situation(self.world(), _stories(), {})

    def other(self, situation):
        """Return a Situation of a plot in which nothing of this one happens,
        as far as possible with the same people."""
        happened = _kinds_of(situation.story.plot)
        choice = [p for p in _stories() if not _kinds_of(p) & happened]
        people = self.draws.shuffled(situation.people)
        fixed = dict(zip("abcd", people, strict=False))
        return self._situation(situation.world, choice, fixed)

    def _situation(self, world, choice, fixed):
        town = self.draws.pick(world.towns)
        natives = [p for p in world.people if p.home == town.name]
        others = [p for p in world.people if p.home != town.name]
        cast = natives + self.draws.sample(others, NUM_VISITORS)
        plot = self.draws.pick(choice)
        planner = plots.Planner(world, town, cast, self.draws, self.teller)
        story = planner.story(plot, chapter=1, fixed=_fitting(plot, fixed))
        return Situation(world, story)

    def outsider(self, situation, person):
        """Return a Person like this one whom the story lacks, or None."""
        found = [
            other
            for other in situation.world.people
            if other not in situation.story.roles.values()
            and other.gender == person.gender
            and other.age == person.age
            and bool(other.trade) == bool(person.trade)
            and bool(other.pet_kind) >= bool(person.pet_kind)
        ]
        return self.draws.pick(found) if found else None

    def say(self, template, roles, tense="past", teller=None):
        """Return the template as a finished sentence."""
        teller = teller or self.teller
        text = teller.sentence(template, roles, tense)
        return text if text[-1] in ".!?\"'" else f"{text}."

    def wrapped(self, section, template, roles, tense="past"):
        """Return a clause in a sentence of sentences.txt or benchmarks.txt.

        `{g}` in the line stands for the clause.
        """
        line = self.line(section).replace("{g}", template)
        return self.say(line, roles, tense)

    def line(self, section):
        """Return a line of a section; all come up before one returns."""
        return self.teller.from_bag(f"lines of {section}", self.lines(section))

    def lines(self, section):
        """Return the lines of a section of benchmarks.txt or sentences.txt."""
        own = library.sections("benchmarks")
        return own.get(section) or library.sections("sentences")[section]

    def with_surname(self, text):
        """Return the text with a surname behind one of its first names."""
        found = [
            match
            for match in _NAME.finditer(text)
            if match.group() in _surnames(self._seed)
        ]
        if not found:
            return text
        match = self.draws.pick(found)
        surname = _surnames(self._seed)[match.group()]
        return f"{text[: match.end()]} {surname}{text[match.end() :]}"

    def question(self, question):
        """Return the text of a statements.Question as a sentence."""
        return self.say(f"{question.text}?", question.roles, question.tense)


@functools.cache
def _stories():
    """Return the plots that need nothing of a book around them."""
    return [p for p in plots.plots().values() if p.name not in plots.FRAME]


def _kinds_of(plot):
    """Return the names of the kinds of events in a plot."""
    return {
        words[1]
        for _, beats in plot.scenes
        for words in beats
        if words[0] == "do"
    }


def _fitting(plot, fixed):
    """Return the roles of `fixed` that these persons can play in the plot,
    so that the rest of its cast can still be found."""
    roles = plot.roles
    if "parent" in roles.values():
        return {}
    return {
        role: person
        for role, person in fixed.items()
        if roles.get(role) in (("", "grown") if person.trade else ("",))
        and person.trade not in population.NEEDED_TRADES
    }


def build(seed, name):
    """Return Situations whose draws depend on the seed and the name."""
    return Situations(seed, draws_module.Draws("benchmark", seed, name))
