"""Facts and events as statements, questions and answers, for any voice."""

import dataclasses

from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import world as world_module


@dataclasses.dataclass(frozen=True)
class Question:
    """A question as templates, so that any voice can ask or answer it.

    Render each with `teller.clause(template, question.roles, question.tense)`.

    Attributes:
        text: "what <it:be> {a:p} favourite food".
        answer: "{a.food}".
        statement: the whole answer, "{a:p} favourite food <it:be> {a.food}".
        wrong: an answer of the same kind that is false, or "".
        roles: {role: value} of the templates.
        tense: "present" for facts, "past" for events.
        about: the Fact or the Event.
    """

    text: str
    answer: str
    statement: str
    wrong: str
    roles: dict
    tense: str
    about: "world_module.Fact | events.Event"


def fact_section(fact):
    """Return the name under which sentences.txt speaks of such a fact."""
    if isinstance(fact.value, str):
        return fact.relation
    return "friend" if fact.relation == "best friend" else "kin"


def fact_roles(fact):
    """Return the roles that templates about the fact use."""
    return {"a": fact.person, "b": fact.value, "relation": fact.relation}


def fact_clause(teller, fact, tense):
    """Return the fact as a clause, without capital and full stop."""
    template = teller.choose(f"fact.{fact_section(fact)}")
    return teller.clause(template, fact_roles(fact), tense)


def fact_question(teller, world, fact):
    """Return a Question about the fact."""
    section = fact_section(fact)
    text, answer = teller.choose(f"ask.{section}").split(" ? ")
    slot = "{b:call}" if section in ("kin", "friend") else f"{{a.{section}}}"
    wrong = ""
    if slot in answer:
        value = teller.draws.pick(world.alternatives(fact))
        value = value if isinstance(value, str) else value.full
        wrong = answer.replace(slot, value)
    return Question(
        text=text,
        answer=answer,
        statement=teller.choose(f"fact.{section}"),
        wrong=wrong,
        roles=fact_roles(fact),
        tense="present",
        about=fact,
    )


def event_question(teller, event):
    """Return a Question about the event."""
    kind = event.kind
    text, answer = teller.from_bag(f"?{kind.name}", kind.questions)
    return Question(
        text=text,
        answer=answer,
        statement=teller.from_bag(kind.name, kind.paraphrases),
        wrong="",
        roles=event.roles,
        tense="past",
        about=event,
    )
