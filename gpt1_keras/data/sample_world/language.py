"""Say things: who is called what, by whom, in which tense."""

from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import templates

_FORM_OF_PRONOUN = {"": "he", "o": "him", "p": "his"}


class Discourse:
    """Who was named lately, so that a pronoun means one person only."""

    def __init__(self):
        self.previous = []
        self.current = []

    def mention(self, person):
        """Note that the sentence in progress names or means the person."""
        if person not in self.current:
            self.current.append(person)

    def next_sentence(self):
        """Close the sentence in progress."""
        self.previous, self.current = self.current, []

    def clear(self):
        """Forget everyone: a new paragraph or another voice begins."""
        self.previous, self.current = [], []

    def means(self, person):
        """Tell whether a pronoun of the person's gender means this person."""
        near = self.previous + self.current
        return person in near and not any(
            other is not person and other.gender == person.gender
            for other in near
        )


class Teller:
    """Renders templates for one voice.

    Forms of a person in `{a:form}`: none subject, `o` object, `p` possessive,
    each a pronoun where one is clear, else a name; `he him his himself`
    always the pronoun; `full` both names; `first` the first name; `the` the
    trade ("the baker"), or the name of a person without one; `ref` pronoun or
    `the`, either way clear from the facts; `full_o` is `full` as an object;
    `call` both names even of the speaker.
    A place: none "in the mill", `the` "the mill", `to` "to the mill".

    Attributes:
        draws: Draws.
        roles: {role: value} of the telling in progress.
        tense: tense of the tagged verbs.
        speaker, hearer: persons in direct speech, or None in narration.
        plain: True to use names only, never a pronoun unless forced.
    """

    def __init__(self, draws, *, plain=False):
        self.draws = draws
        self.roles = {}
        self.tense = "past"
        self.speaker = None
        self.hearer = None
        self.plain = plain
        self.discourse = Discourse()
        self._subject = grammar.THIRD
        self._bags = {}
        self._last_words = {}

    def clause(self, template, roles, tense="past"):
        """Return the text of a template, without capital or full stop.

        Args:
            template: str in the language of `templates`.
            roles: {role: Person, Place, Event or text}.
            tense: one of `grammar.TENSES`.
        """
        outer = self.roles, self.tense
        self.roles, self.tense = roles, tense
        try:
            return templates.render(templates.parse(template), self)
        finally:
            self.roles, self.tense = outer

    def sentence(self, template, roles, tense="past"):
        """Return finished text and close the sentence for pronouns."""
        text = self.clause(template, roles, tense)
        self.discourse.next_sentence()
        return grammar.finish(text)

    def event(self, event, tense="past"):
        """Return one of the paraphrases of an event as a clause."""
        template = self.from_bag(event.kind.name, event.kind.paraphrases)
        return self.clause(template, event.roles, tense)

    def choose(self, section):
        """Return a line of sentences.txt; all come up before one returns."""
        return self.from_bag(section, library.sections("sentences")[section])

    def from_bag(self, key, items):
        """Return an item; all of `items` come up before one returns."""
        bag = self._bags.get(key)
        if not bag:
            bag = self._bags[key] = self.draws.shuffled(items)
        return bag.pop()

    # What compiled templates call.

    def word(self, name):
        """Return a word of the list, never the same twice running."""
        words = library.words(name)
        word = self.draws.pick(words)
        while word == self._last_words.get(name) and len(words) > 1:
            word = self.draws.pick(words)
        self._last_words[name] = word
        return word

    def attribute(self, role, attribute):
        """Return the text of `{role.attribute}`."""
        value = getattr(self.roles[role], attribute)
        if value == "":
            raise ValueError(f"{self.roles[role]!r} has no {attribute}")
        return str(value)

    def verb(self, verb, subject, second, always_past):
        """Return the verb in the tense of the telling."""
        person = self._subject
        if subject:
            person = (
                subject
                if subject in (grammar.THIRD, grammar.PLURAL)
                else self._person(self.roles[subject])
            )
        tense = "past" if always_past else self.tense
        return grammar.conjugate(verb, tense, person, second)

    def slot(self, role, form):
        """Return the text of `{role:form}`."""
        value = self.roles[role]
        if isinstance(value, str):
            return value
        if hasattr(value, "gender"):
            return self._reference(value, form)
        if isinstance(value, events.Event):
            return self.event(value, form or self.tense)
        if form:
            return value.noun if form == "the" else value.toward
        return str(value)

    def _person(self, person):
        if person is self.speaker:
            return grammar.FIRST
        return grammar.SECOND if person is self.hearer else grammar.THIRD

    def _reference(self, person, form):
        # Asked before the mention is noted: it is about what came before.
        clear = not self.plain and self.discourse.means(person)
        likely = 0.95 if person in self.discourse.current else 0.75
        self.discourse.mention(person)
        if form in ("", "he", "the", "ref", "full", "first"):
            self._subject = self._person(person)
        spoken = person is self.speaker or person is self.hearer
        if form == "call" or (form in ("full", "full_o") and not spoken):
            return person.full
        if form in ("full", "full_o"):
            return self._pronoun(person, "he" if form == "full" else "him")
        if form == "first":
            return person.first
        if form in grammar.PRONOUNS:
            return self._pronoun(person, form)
        if form in _FORM_OF_PRONOUN:
            if spoken or (clear and self.draws.chance(likely)):
                return self._pronoun(person, _FORM_OF_PRONOUN[form])
            name = self._name(person)
            return grammar.possessive(name) if form == "p" else name
        if form == "ref" and (spoken or self.draws.chance(0.6)):
            return self._pronoun(person, "he")
        if form in ("the", "ref"):
            if spoken:
                return self._pronoun(person, "he")
            return f"the {person.trade}" if person.trade else person.first
        raise ValueError(f"unknown form of a person: {form}")

    def _pronoun(self, person, form):
        if person is self.speaker:
            column = grammar.SPEAKER
        elif person is self.hearer:
            column = grammar.HEARER
        elif person.gender == "f":
            column = grammar.FEMININE
        else:
            column = grammar.MASCULINE
        return grammar.PRONOUNS[form][column]

    def _name(self, person):
        draw = self.draws.random()
        if self.speaker is None and not self.plain:
            if draw < 0.2:
                if person.trade:
                    return f"the {person.trade}"
                if person.age == "child":
                    return f"little {person.first}"
            if draw > 0.93:
                return person.full
        return person.first
