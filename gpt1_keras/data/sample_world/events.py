"""What can happen: kinds of events, and events with their roles filled."""

import dataclasses
import functools
import re

from gpt1_keras.data.sample_world import library


@dataclasses.dataclass(frozen=True)
class EventKind:
    """Everything the language knows about one kind of event.

    All texts are templates over the event's roles (see `templates`).

    Attributes:
        name: "mend".
        paraphrases: clauses that all say the event.
        entailed: clauses that are true because of the event.
        contradicted: clauses that are false because of the event.
        questions: (question, answer) pairs.
        before: sentences that lead up to it.
        after: sentences that follow it.
        speeches: (speaker role, hearer role, text).
        reasons: sentences with "because" and a pronoun the facts resolve.
        moods: {role: feeling}.
        slots: the roles that its paraphrases name.
    """

    name: str
    paraphrases: tuple
    entailed: tuple
    contradicted: tuple
    questions: tuple
    before: tuple
    after: tuple
    speeches: tuple
    reasons: tuple
    moods: dict
    slots: frozenset


@dataclasses.dataclass(eq=False)
class Event:
    """Something that happened: a kind with its roles filled.

    Attributes:
        kind: EventKind.
        roles: {role: Person, Place, Town or text}.
        cause: the Event that led to it, or None.
        time: "in the morning".
        chapter: number of the chapter, from 1.
    """

    kind: EventKind
    roles: dict
    cause: "Event | None" = None
    time: str = ""
    chapter: int = 0

    @property
    def people(self):
        """The persons whom the paraphrases name, in the order of the roles."""
        return [
            value
            for role, value in self.roles.items()
            if role in self.kind.slots and hasattr(value, "gender")
        ]


_SLOT = re.compile(r"\{(\w+)")
_FIELDS = {
    "=": "paraphrases",
    ">": "entailed",
    "!": "contradicted",
    "?": "questions",
    "-": "before",
    "+": "after",
    '"': "speeches",
    "&": "reasons",
}


@functools.cache
def kinds():
    """Return {name: EventKind} of events.txt."""
    return {
        name: _kind(name, lines)
        for name, lines in library.sections("events").items()
    }


def _kind(name, lines):
    found = {field: [] for field in _FIELDS.values()}
    moods = {}
    for line in lines:
        mark, text = line[0], line[1:].strip()
        if mark == "~":
            moods = dict(entry.split() for entry in text.split(","))
        elif mark == "?":
            question, answer = text.split(" ? ")
            found["questions"].append((question, answer))
        elif mark == '"':
            speakers, speech = text.split(":", 1)
            found["speeches"].append((*speakers.split(), speech.strip()))
        else:
            found[_FIELDS[mark]].append(text)
    slots = frozenset(_SLOT.findall(" ".join(found["paraphrases"])))
    return EventKind(
        name=name,
        moods=moods,
        slots=slots,
        **{field: tuple(texts) for field, texts in found.items()},
    )
