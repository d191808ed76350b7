"""Whom a pronoun means: WNLI and Definite Pronoun Resolution."""

import dataclasses
import re

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import grammar

_REF = re.compile(r"\{(\w):ref\}")
_PERSON = re.compile(r"\{(\w)(?::(?:the|first))?\}")


@dataclasses.dataclass(frozen=True)
class Pronoun:
    """A sentence with a pronoun that two persons of it could be.

    Attributes:
        sentence: "The cook thanked the smith because he had ...".
        pronoun: "he".
        candidates: ("the cook", "the smith"), in the sentence's order.
        right: index of the one that is meant.
        meanings: the last clause as a sentence, with each candidate.
    """

    sentence: str
    pronoun: str
    candidates: tuple
    right: int
    meanings: tuple


def pronoun(situations):
    """Return a Pronoun; each candidate is as often the right one."""
    right = situations.draws.below(2)
    while True:
        found = [
            candidate
            for event in situations.situation().story.events
            for template in event.kind.reasons
            if (candidate := _pronoun(situations, event, template, right))
        ]
        if found:
            return situations.draws.pick(found)


def _pronoun(situations, event, template, right):
    """Return a Pronoun, or None if two persons could not be meant, or if the
    one that is meant is not candidate number `right`."""
    cause, joint, reason = template.rpartition("because ")
    meant = _REF.match(reason)
    slots = list(_PERSON.finditer(cause))
    roles = list(dict.fromkeys(slot.group(1) for slot in slots))
    if not meant or len(roles) != 2 or meant.group(1) != roles[right]:
        return None
    people = [event.roles[role] for role in roles]
    if people[0].gender != people[1].gender:
        return None

    def say(text):
        return situations.say(text, event.roles)

    subject = f"{{{meant.group(1)}:he}}"
    rest = reason[meant.end() :]
    texts = {slot.group(1): slot.group() for slot in reversed(slots)}
    named = [texts[role] for role in roles]
    return Pronoun(
        sentence=say(f"{cause}{joint}{subject}{rest}"),
        pronoun=situations.teller.clause(subject, event.roles),
        candidates=tuple(
            situations.teller.clause(name, event.roles) for name in named
        ),
        right=right,
        meanings=tuple(say(f"{name}{rest}") for name in named),
    )


def wnli(situations):
    """Return an Example: the sentence, and the clause with one candidate."""
    found = pronoun(situations)
    number = situations.draws.below(2)
    label = "1" if number == found.right else "0"
    return [
        examples.Example(found.sentence, found.meanings[number], label=label)
    ]


def dpr(situations):
    """Return an Example: text is the sentence, text_pair its pronoun, choices
    the candidates, label the index of the right one."""
    found = pronoun(situations)
    first = grammar.finish(found.candidates[0])
    starts = found.sentence.startswith(first)
    choices = (first if starts else found.candidates[0], found.candidates[1])
    return [
        examples.Example(
            found.sentence, found.pronoun, choices, label=found.right
        )
    ]
