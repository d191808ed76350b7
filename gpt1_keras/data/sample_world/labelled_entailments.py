"""Premise and hypothesis: SNLI, MultiNLI, RTE.

A kind of event has clauses that say it, that it implies and that it rules out
(events.txt). From these the label of a pair follows, never from one side:
every form of a premise or a hypothesis occurs with every label.
"""

import dataclasses

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import situations as situations_module

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
NO_ENTAILMENT = "not_entailment"
MATCHED = ("narration", "chronicle", "speech")
MISMATCHED = ("letter", "rumour")
_MOST_WORDS = 32
# Forms of a clause about an event: said, implied by it, opposed to it, said
# in the negative; and denied: said, but called untrue.
_RELATIONS = {
    ENTAILMENT: (
        *[("said", "said"), ("said", "implied")] * 2,
        ("denied", "negated"),
        ("opposed", "negated"),
    ),
    CONTRADICTION: (
        *[("said", "negated"), ("said", "opposed")] * 2,
        ("denied", "said"),
        ("opposed", "said"),
    ),
    # The premise says less than the hypothesis.
    NEUTRAL: (("implied", "said"),),
}
# A premise about other matters: its form, and that of the hypothesis.
_UNRELATED = (
    ("said", "implied"),
    ("said", "opposed"),
    ("said", "negated"),
    ("denied", "negated"),
    ("denied", "said"),
    ("opposed", "negated"),
)


@dataclasses.dataclass(frozen=True)
class Clause:
    """A clause about an event, before it is told.

    Attributes:
        template: str.
        roles: {role: value} of the template.
        tense: "past" or "negated".
        is_true: False where the teller is to call it untrue.
    """

    template: str
    roles: dict
    tense: str = "past"
    is_true: bool = True


def clause(situations, event, form, without=""):
    """Return a Clause of one of the forms; None if the event has none.

    `without`: a template that is not to be used again.
    """
    kind = event.kind
    if form == "implied":
        found = kind.entailed
    elif form == "opposed":
        found = kind.contradicted
    else:
        found = situations_module.exact(kind.paraphrases)
    if form == "negated":
        found = filter(situations_module.can_be_negated, found)
    found = [text for text in found if text != without]
    if not found:
        return None
    return Clause(
        situations.draws.pick(found),
        event.roles,
        tense="negated" if form == "negated" else "past",
        is_true=form != "denied",
    )


def tell(situations, clause, event, genre):
    """Return the clause as a premise of the genre."""
    section = f"{'true' if clause.is_true else 'false'}.{genre}"
    if genre in ("speech", "letter"):
        return _voiced(situations, clause, event, genre, section)
    text = situations.wrapped(
        section, clause.template, clause.roles, clause.tense
    )
    return f'"{text}"' if genre == "rumour" else text


def _voiced(situations, clause, event, genre, section):
    draws = situations.draws
    people = [v for v in event.roles.values() if hasattr(v, "gender")]
    speaker = draws.pick(event.people)
    hearer = draws.pick([p for p in people if p is not speaker])
    template = situations.line(section).replace("{g}", clause.template)
    roles = {**clause.roles, "s": speaker, "h": hearer}
    text = situations.voices.clause(
        speaker, hearer, template, roles, clause.tense
    )
    verb = "wrote" if genre == "letter" else draws.pick(("said", "remarked"))
    return f'{speaker.full} {verb} to {hearer.first}: "{grammar.finish(text)}"'


def state(situations, clause):
    """Return the clause as a plain sentence."""
    return situations.say(clause.template, clause.roles, clause.tense)


def inference(situations, label, genre):
    """Return (premise, hypothesis) with the label."""
    while True:
        here = situations.situation()
        event = situations.draws.pick(here.story.events)
        about = event
        forms = situations.draws.pick(_RELATIONS[label])
        if label == NEUTRAL and situations.draws.chance(0.8):
            forms = situations.draws.pick(_UNRELATED)
            there = situations.other(here)
            event = situations.draws.pick(there.story.events)
        first = clause(situations, event, forms[0])
        if first is None or not set(event.people) & set(about.people):
            continue
        used = first.template if forms[1] == "said" else ""
        second = clause(situations, about, forms[1], without=used)
        if second is None:
            continue
        premise = tell(situations, first, event, genre)
        if premise.count(" ") < _MOST_WORDS:
            return premise, state(situations, second)


def snli(situations):
    """Return an Example: one told sentence, three labels."""
    label = situations.draws.pick((ENTAILMENT, NEUTRAL, CONTRADICTION))
    premise, hypothesis = inference(situations, label, "narration")
    return [examples.Example(premise, hypothesis, label=label)]


def mnli(situations, genres=MATCHED, group="matched"):
    """Return an Example of one of the genres, which is its group's."""
    label = situations.draws.pick((ENTAILMENT, NEUTRAL, CONTRADICTION))
    genre = situations.draws.pick(genres)
    premise, hypothesis = inference(situations, label, genre)
    return [examples.Example(premise, hypothesis, label=label, group=group)]


def mnli_mismatched(situations):
    """Return an Example of a genre that training lacks."""
    return mnli(situations, MISMATCHED, "mismatched")


def rte(situations):
    """Return an Example: a passage of several events, two labels."""
    draws = situations.draws
    here = situations.situation()
    told = here.story.events
    start = draws.below(max(1, len(told) - 1))
    told = told[start : start + 2 + draws.below(2)]
    clauses = [clause(situations, event, "said") for event in told]
    number = draws.below(len(told))
    about, label = told[number], draws.pick((ENTAILMENT, NO_ENTAILMENT))
    if draws.chance(0.3):
        clauses[number] = dataclasses.replace(clauses[number], is_true=False)
        form = "negated" if label == ENTAILMENT else "said"
    elif label == ENTAILMENT:
        form = draws.pick(("said", "implied"))
    else:
        form = draws.pick(("negated", "opposed", "outsider", "outsider"))
    if form == "outsider":
        about = with_outsider(situations, here, about)
        form = draws.pick(("said", "implied"))
    used = clauses[number].template
    hypothesis = about and clause(situations, about, form, without=used)
    if not hypothesis:
        return []
    event = told[number]
    if about is not event and not shows(hypothesis, about, event):
        return []
    premise = " ".join(
        tell(situations, part, event, "narration")
        for part, event in zip(clauses, told, strict=True)
    )
    if premise.count(" ") > 2 * _MOST_WORDS:
        return []
    text = state(situations, hypothesis)
    return [examples.Example(premise, text, label=label)]


def with_outsider(situations, situation, event):
    """Return the event with a stranger to the story in one of its roles;
    None if there is nobody of that kind."""
    roles = [role for role in "abcd" if event.roles.get(role) in event.people]
    role = situations.draws.pick(roles)
    stranger = situations.outsider(situation, event.roles[role])
    if stranger is None:
        return None
    return dataclasses.replace(event, roles={**event.roles, role: stranger})


def shows(clause, other, event):
    """Tell whether one can see that a clause is about `other`, not `event`."""
    return other.kind is not event.kind or any(
        clause.roles[role] is not event.roles[role]
        for role in situations_module.slots(clause.template)
    )
