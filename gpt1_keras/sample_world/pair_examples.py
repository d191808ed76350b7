"""Sentence-pair examples: entailment, answers to questions, similarity.

For each kind of event, events.txt has clauses that state it, that it implies
and that it rules out. The label of a pair follows from these.
"""

import dataclasses
import re

from gpt1_keras.data import examples
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import stories
from gpt1_keras.sample_world import world

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
NO_ENTAILMENT = "not_entailment"
MATCHED = ("narration", "speech")
MISMATCHED = "letter"
_MOST_WORDS = 32
_PERSON = re.compile(r"\{([a-d])[:}]")
# Forms of a clause about an event: said, implied by it, opposed to it,
# negated; and denied: said, but called untrue.
_RELATIONS = {
    ENTAILMENT: (
        *[("said", "said"), ("said", "implied")] * 2,
        *[("denied", "negated"), ("opposed", "negated")],
    ),
    CONTRADICTION: (
        *[("said", "negated"), ("said", "opposed")] * 2,
        *[("denied", "said"), ("opposed", "said")],
    ),
    # The premise is about other matters.
    NEUTRAL: (
        *[("said", "implied"), ("said", "opposed"), ("said", "negated")],
        *[("denied", "negated"), ("denied", "said"), ("opposed", "negated")],
    ),
}
# Shares in the official training files, rounded.
_SHARE_PARAPHRASES = 0.65
_SHARE_DUPLICATES = 0.4
# What two sentences of STS-B have in common -> their score.
SCORES = {
    "the same event": 5.0,
    "an event and what it implies": 3.6,
    "the same event with another person": 3.0,
    "an event and its negation": 2.4,
    "two events of one story": 1.6,
    "two stories about the same people": 0.8,
    "nothing": 0.0,
}


def _clause(source, event, form, but=""):
    """Return a template of the form that is not `but`; None without one."""
    found = event.kind.said
    if form in ("implied", "opposed"):
        found = getattr(event.kind, form)
    elif form == "negated":
        found = filter(stories.can_be_negated, found)
    found = [clause for clause in found if clause != but]
    return source.draws.pick(found) if found else None


def _named(event, clause):
    """Return the people whom a clause about the event names."""
    return {event.roles[role] for role in _PERSON.findall(clause)}


def _tell(source, event, clause, form, genre="narration"):
    """Return a clause about the event as a sentence of the genre."""
    section = f"{'false' if form == 'denied' else 'true'}.{genre}"
    line = source.teller.line(section).replace("{g}", clause)
    speaker, hearer = source.draws.sample(source.world().people, 2)
    return source.say(
        line, {**event.roles, "s": speaker, "h": hearer}, _tense(form)
    )


def _state(source, event, clause, form):
    """Return a clause about the event as a plain sentence."""
    return source.say(clause, event.roles, _tense(form))


def _tense(form):
    return sentences.NEGATED if form == "negated" else sentences.PAST


def _inference(source, genre, group=""):
    """Return an Example: premise of the genre, hypothesis, three labels."""
    draws = source.draws
    label = draws.pick((ENTAILMENT, NEUTRAL, CONTRADICTION))
    story = source.story()
    told = about = draws.pick(story.events)
    forms = draws.pick(_RELATIONS[label])
    if label == NEUTRAL:
        told = draws.pick(source.other(story).events)
    first = _clause(source, told, forms[0])
    second = first and _clause(source, about, forms[1], but=first)
    if not second or not set(told.people) & set(about.people):
        return []
    premise = _tell(source, told, first, forms[0], genre)
    hypothesis = _state(source, about, second, forms[1])
    if premise.count(" ") >= _MOST_WORDS:
        return []
    return [examples.Example(premise, hypothesis, label=label, group=group)]


def snli(source):
    """Return an Example with one narrated sentence and three labels."""
    return _inference(source, "narration")


def mnli(source):
    """Return an Example of a genre that training has."""
    return _inference(source, source.draws.pick(MATCHED), "matched")


def mnli_mismatched(source):
    """Return an Example of a genre that training lacks."""
    return _inference(source, MISMATCHED, "mismatched")


def rte(source):
    """Return an Example: a passage of several events, two labels."""
    draws = source.draws
    story = source.story()
    start = draws.below(len(story.events) - 1)
    told = story.events[start : start + 3]
    said = [_clause(source, event, "said") for event in told]
    number = draws.below(len(told))
    about = told[number]
    label = draws.pick((ENTAILMENT, NO_ENTAILMENT))
    form = draws.pick(("said", "implied"))
    if label == NO_ENTAILMENT:
        if draws.chance(0.5):
            form = draws.pick(("negated", "opposed"))
        else:
            about = _with_outsider(source, story, about, form)
    clause = about and _clause(source, about, form, but=said[number])
    premise = " ".join(
        _tell(source, event, text, "said")
        for event, text in zip(told, said, strict=True)
    )
    if not clause or premise.count(" ") > 2 * _MOST_WORDS:
        return []
    hypothesis = _state(source, about, clause, form)
    return [examples.Example(premise, hypothesis, label=label)]


def _with_outsider(source, story, event, form="said"):
    """Return the event with a stranger in a role of every clause, or None."""
    clauses = getattr(event.kind, form)
    roles = [
        role
        for role in "abcd"
        if event.roles.get(role) in event.people
        and all(role in stories.slots(clause) for clause in clauses)
    ]
    role = source.draws.pick(roles) if roles else ""
    stranger = role and source.outsider(story, event.roles[role])
    if not stranger:
        return None
    return dataclasses.replace(event, roles={**event.roles, role: stranger})


def scitail(source):
    """Return an Example: facts about one or two people, and a statement."""
    draws = source.draws
    fact, other = _facts_alike(source)
    told = [fact, other] if draws.chance(0.6) else [fact]
    label = draws.pick(("entails", "neutral"))
    claim = fact
    if label == "neutral":
        claim = world.with_value(fact, other.value)
    premise = " ".join(
        source.teller.statement(part, sentences.PRESENT)
        for part in draws.shuffled(told)
    )
    hypothesis = source.teller.statement(claim, sentences.PRESENT)
    if hypothesis in premise:
        return []
    return [examples.Example(premise, hypothesis, label=label)]


def _facts_alike(source):
    """Return facts of one relation, with different values, of two people."""
    here = source.world()
    while True:
        first, second = source.draws.sample(here.people, 2)
        fact = source.draws.pick(here.facts(first))
        value = second.traits.get(fact.relation)
        if value not in (None, fact.value, first) and fact.value is not second:
            return fact, world.Fact(second, fact.relation, value)


def qnli(source):
    """Return an Example: a question, and a sentence that may answer it."""
    is_answered = source.draws.chance(0.5)
    label = ENTAILMENT if is_answered else NO_ENTAILMENT
    question, sentence, answer = _asked(source, is_answered)
    while (answer in sentence) != is_answered:
        question, sentence, answer = _asked(source, is_answered)
    return [examples.Example(question, sentence, label=label)]


def _asked(source, is_answered):
    """Return a question, the sentence beside it, and the answer in short."""
    draws = source.draws
    story = source.story()
    event = draws.pick(story.events)
    question, answer = draws.pick(event.kind.questions)
    # The end of "{a:p} {thing}" is what a sentence may say of "her whistle".
    last = answer[answer.rfind("{") :].replace(":full}", "}")
    answer = source.teller.clause(last, event.roles)
    asked = source.say(f"{question}?", event.roles)
    if not is_answered:
        if draws.chance(0.3):
            story = source.other(story)
        event = draws.pick([e for e in story.events if e is not event])
    clause = _clause(source, event, "said")
    return asked, _tell(source, event, clause, "said"), answer


def mrpc(source):
    """Return an Example: two narrated sentences, "1" if paraphrases."""
    if source.draws.chance(_SHARE_PARAPHRASES):
        found = _compared(source, "the same event", _tell)
    else:
        other = source.draws.pick(tuple(SCORES)[1:6])
        found = _compared(source, other, _tell)
    label = "1" if found and found[0].label == SCORES["the same event"] else "0"
    return [dataclasses.replace(example, label=label) for example in found]


def stsb(source):
    """Return an Example: two sentences with a score of `SCORES`."""
    return _compared(source, source.draws.pick(tuple(SCORES)), _state)


def _compared(source, relation, tell):
    """Return an Example of two sentences that have `relation` of `SCORES`."""
    draws = source.draws
    story = source.story()
    event = other = draws.pick(story.events)
    first, form, is_same = _clause(source, event, "said"), "said", None
    if relation == "an event and what it implies":
        form = "implied"
    elif relation == "the same event with another person":
        other = _with_outsider(source, story, event)
    elif relation == "an event and its negation":
        form = "negated"
    elif relation == "two events of one story":
        other = draws.pick([e for e in story.events if e is not event])
    elif relation != "the same event":
        is_same = relation == "two stories about the same people"
        there = source.other(story) if is_same else source.story()
        other = draws.pick(there.events)
        if other.kind is event.kind:
            return []
    second = other and _clause(source, other, form, but=first)
    if not second:
        return []
    # By name: "{a.pet_name}" tells nobody whose pet it is.
    is_apart = _named(event, first).isdisjoint(_named(other, second))
    if is_same is is_apart:
        return []
    pair = draws.shuffled([(event, first, "said"), (other, second, form)])
    texts = [tell(source, *part) for part in pair]
    return [examples.Example(*texts, label=SCORES[relation])]


def qqp(source):
    """Return an Example: two questions, "1" if they are duplicates."""
    draws = source.draws
    is_same = draws.chance(_SHARE_DUPLICATES)
    fact, other = _facts_alike(source)
    if is_same:
        other = fact
    elif draws.chance(0.5):
        facts = source.world().facts(fact.person)
        other = draws.pick([f for f in facts if f.relation != fact.relation])
    texts = []
    for about in (fact, other):
        question, _ = source.teller.question(about)
        if draws.chance(0.4):
            person = about.person
            question = question.replace(person.full, person.first)
            question = question.replace(person.first, person.full)
        line = source.teller.line("quora").replace("{g}", question)
        hearer = draws.pick(source.world().people)
        texts.append(source.say(line, {"h": hearer}))
    if texts[0] == texts[1]:
        return []
    return [examples.Example(*texts, label="1" if is_same else "0")]
