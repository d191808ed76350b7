"""Render templates as English: slots, verbs, pronouns, articles.

[one|two|]       one of the alternatives
{a} {a:o} {a:p}  a person as subject, object, possessive: name or pronoun
{a:he} {a:him} {a:his} {a:himself}    always the pronoun
{a:full} {a:first}    the names
{a:the} {a:ref}  "the baker"; "the baker" or the pronoun
{a.food}         a trait of the person
{thing}          a text that fills a role
{@bird}          a word of a list
<find>           a verb in the tense of narration; <they:find> in the plural

Every indefinite article is written "a"; `finish` turns it into "an".
"""

import functools
import re

from gpt1_keras.sample_world import tables
from gpt1_keras.sample_world import world

PAST, PRESENT = "past", "present"
NEGATED = "negated"  # "did not find"
# Deliberate faults, for CoLA.
WRONG_FORM, MISSING = "wrong form", "missing"
_PRONOUNS = {
    "he": ("he", "she"),
    "him": ("him", "her"),
    "his": ("his", "her"),
    "himself": ("himself", "herself"),
}
_PRONOUN_OF = {"": "he", "o": "him", "p": "his", "ref": "he"}
_TOKEN = re.compile(r"[\[\]|]|\{[^{}]*\}|<[^<>]*>|[^\[\]|{}<>]+")
_ARTICLE = re.compile(
    r"\b([Aa]) (?=(?!one|uni|use)[aeiou]|hones|hono|hour)", re.I
)
_INNER_START = re.compile(r"(?<=[.!?] )[a-z]")


@functools.cache
def conjugate(verb, tense, plural, wrong=False):
    """Return the third person of a verb, or a wrong form of it."""
    if verb == "be":
        present = tense == PRESENT
        one, many = ("is", "are") if present else ("was", "were")
        form = many if plural != wrong else one
        return f"{form} not" if tense == NEGATED else form
    if tense == NEGATED:
        return f"did not {_past(verb) if wrong else verb}"
    if tense == PRESENT:
        return verb if plural != wrong else _third_person(verb)
    if wrong:
        # "They look" is right in the present; "he look" and "they looks" never.
        return _third_person(verb) if plural else verb
    return _past(verb)


def _past(verb):
    irregular = dict(pair.split() for pair in tables.words("past"))
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}d" if verb.endswith("e") else f"{verb}ed"


def _third_person(verb):
    if verb == "have":
        return "has"
    return f"{verb}es" if verb.endswith(("s", "ch", "sh", "o")) else f"{verb}s"


def finish(text):
    """Return sentences with articles, capitals and a full stop."""
    text = _ARTICLE.sub(r"\1n ", text)
    text = _INNER_START.sub(lambda match: match.group().upper(), text)
    first = 1 if text[0] == '"' else 0
    text = f"{text[:first]}{text[first].upper()}{text[first + 1 :]}"
    return text if text[-1] in '.!?"' else f"{text}."


@functools.cache
def parse(template):
    """Return a template as a tuple of str and functions of a Teller."""
    tokens = _TOKEN.findall(template)
    if "".join(tokens) != template:
        raise ValueError(f"stray brace in template: {template}")
    parts, end = _sequence(tokens, 0)
    if end != len(tokens):
        raise ValueError(f"stray bracket in template: {template}")
    return parts


def _sequence(tokens, start):
    """Return the parts up to the next "|" or "]", and its position."""
    parts = []
    while start < len(tokens) and tokens[start] not in "|]":
        token = tokens[start]
        if token == "[":
            part, start = _alternatives(tokens, start + 1)
        elif token[0] == "{":
            part = _slot(token[1:-1])
        elif token[0] == "<":
            part = _verb(token[1:-1])
        else:
            part = token
        parts.append(part)
        start += 1
    return tuple(parts), start


def _alternatives(tokens, start):
    choices = []
    while not choices or tokens[start - 1] == "|":
        choice, start = _sequence(tokens, start)
        choices.append(choice)
        start += 1
    return lambda teller: teller.render(teller.draws.pick(choices)), start - 1


def _slot(text):
    if text[0] == "@":
        entries = tables.words(text[1:])
        return lambda teller: teller.draws.pick(entries)
    name, _, form = text.partition(":")
    role, _, trait = name.partition(".")
    if trait:
        return lambda teller: teller.roles[role].traits[trait]
    return lambda teller: teller.slot(role, form)


def _verb(text):
    number, _, verb = text.rpartition(":")
    return lambda teller: teller.verb(verb, number == "they")


class Teller:
    """Renderer of templates that remembers whom it named.

    Attributes:
        by_name: True to use pronouns only where a template asks for one.
        roles: {role: Person or text} of the template in progress.
        fault: WRONG_FORM, MISSING or "": the fault of verbs.
        num_faults: how many verbs came out wrong.
    """

    def __init__(self, draws, *, by_name=False):
        self.draws = draws
        self.by_name = by_name
        self.roles = {}
        self.fault = ""
        self.num_faults = 0
        self._tense = PAST
        self._before, self._now = [], []
        self._bags = {}

    def clause(self, template, roles, tense=PAST):
        """Return the text of a template, without capital and full stop."""
        self.roles, self._tense = roles, tense
        return self.render(parse(template))

    def sentence(self, template, roles, tense=PAST):
        """Return a finished sentence; pronouns may refer to its people next."""
        text = finish(self.clause(template, roles, tense))
        self._before, self._now = self._now, []
        return text

    def forget(self):
        """Start a paragraph: pronouns refer to nobody before it."""
        self._before, self._now = [], []

    def line(self, section):
        """Return an entry of sentences.txt; all are used before any repeats."""
        bag = self._bags.get(section)
        if not bag:
            entries = tables.sections("sentences")[section]
            bag = self._bags[section] = self.draws.shuffled(entries)
        return bag.pop()

    def statement(self, fact, tense):
        """Return a world.Fact as a sentence."""
        return self.sentence(*self.fact_template(fact), tense)

    def fact_template(self, fact):
        """Return (template, roles) of a statement of a world.Fact."""
        return self.line(f"fact.{_topic(fact)}"), _fact_roles(fact)

    def question(self, fact):
        """Return (question without its mark, answer) about a world.Fact."""
        asked, answer = self.line(f"ask.{_topic(fact)}").split(" ? ")
        roles = _fact_roles(fact)
        return self.clause(asked, roles), self.clause(answer, roles)

    # Called by parsed templates.

    def render(self, parts):
        """Return the text of a parsed template."""
        return "".join(
            [part if part.__class__ is str else part(self) for part in parts]
        )

    def verb(self, verb, plural):
        """Return the verb in the tense of narration."""
        right = conjugate(verb, self._tense, plural)
        if self.fault == MISSING:
            self.num_faults += 1
            return ""
        if self.fault == WRONG_FORM:
            wrong = conjugate(verb, self._tense, plural, True)
            self.num_faults += wrong != right
            return wrong
        return right

    def slot(self, role, form):
        """Return the text of `{role:form}`."""
        value = self.roles[role]
        if not isinstance(value, world.Person):
            return value
        is_clear = not self.by_name and self._is_clear(value)
        self._now.append(value)
        if form == "full":
            return value.full
        if form == "first":
            return value.first
        if form in _PRONOUNS:
            return self._pronoun(value, form)
        if form == "the" or (form == "ref" and self.draws.chance(0.4)):
            return _trade(value)
        if form == "ref" or (is_clear and self.draws.chance(0.8)):
            return self._pronoun(value, _PRONOUN_OF[form])
        name = self._name(value)
        return f"{name}'s" if form == "p" else name

    def _is_clear(self, person):
        """Return whether a pronoun can only mean this person."""
        near = self._before + self._now
        return person in near and not any(
            other is not person and other.gender == person.gender
            for other in near
        )

    def _pronoun(self, person, form):
        return _PRONOUNS[form][person.gender == "f"]

    def _name(self, person):
        if not self.by_name:
            draw = self.draws.random()
            if draw < 0.1:
                return _trade(person)
            if draw > 0.93:
                return person.full
        return person.first


def _topic(fact):
    return "relative" if fact.relation in world.KIN else fact.relation


def _fact_roles(fact):
    return {"a": fact.person, "b": fact.value, "relation": fact.relation}


def _trade(person):
    trade = person.traits.get("trade")
    return f"the {trade}" if trade else person.first
