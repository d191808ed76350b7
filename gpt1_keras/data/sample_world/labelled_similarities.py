"""Two sentences: MRPC and QQP (do they say the same?), STS-B (how much?)."""

import dataclasses

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import labelled_entailments as entailments
from gpt1_keras.data.sample_world import labelled_facts
from gpt1_keras.data.sample_world import statements

# The shares of the official training files, rounded.
SHARE_PARAPHRASES = 0.65
SHARE_DUPLICATES = 0.4
# What two sentences of STS-B have in common, and the score of it.
SCORES = {
    "the same event": 5.0,
    "an event and what it implies": 3.6,
    "the same event at another place": 4.2,
    "the same event with another person": 3.0,
    "an event and its negation": 2.4,
    "two events of one story": 1.6,
    "two stories about the same people": 0.8,
    "nothing": 0.0,
}


def mrpc(situations):
    """Return an Example: two told sentences, "1" if they mean the same."""
    draws = situations.draws
    here = situations.situation()
    event = draws.pick(here.story.events)
    first = entailments.clause(situations, event, "said")
    is_same = draws.chance(SHARE_PARAPHRASES)
    form, other = "said", event
    if not is_same:
        form = draws.pick(("person", "person", "place", "story", "opposed"))
    if form == "person":
        other = entailments.with_outsider(situations, here, event)
    elif form == "place":
        other = _elsewhere(situations, here, event, first.template)
    elif form == "story":
        other = draws.pick([e for e in here.story.events if e is not event])
    form = form if form == "opposed" else "said"
    second = other and entailments.clause(
        situations, other, form, without=first.template
    )
    if not second:
        return []
    if other is not event and not entailments.shows(second, other, event):
        return []
    pair = draws.shuffled([(first, event), (second, other)])
    texts = [
        entailments.tell(situations, part, about, "narration")
        for part, about in pair
    ]
    return [examples.Example(*texts, label="1" if is_same else "0")]


def _elsewhere(situations, situation, event, template):
    """Return the event at another place; None if it has none to show."""
    if "{place}" not in template:
        return None
    places = situation.story.town.places.values()
    place = situations.draws.pick(
        [place for place in places if place != event.roles["place"]]
    )
    return dataclasses.replace(event, roles={**event.roles, "place": place})


def qqp(situations):
    """Return an Example: two questions, "1" if they ask for the same."""
    draws = situations.draws
    is_same = draws.chance(SHARE_DUPLICATES)
    ask = draws.pick((_fact_questions, _event_questions))
    questions = ask(situations, is_same)
    if not is_same and len(set(questions)) < 2:
        return []
    texts = []
    for question in questions:
        world = situations.world()
        if draws.chance(0.4):
            question = situations.with_surname(question)
        line = situations.line("question").replace("{g}", question)
        roles = {"h": draws.pick(world.people)}
        texts.append(situations.say(line, roles))
    if texts[0] == texts[1]:
        return []
    return [examples.Example(*texts, label="1" if is_same else "0")]


def _fact_questions(situations, is_same):
    """Return two questions without a question mark."""
    draws = situations.draws
    world = situations.world()
    fact, other = labelled_facts.facts_alike(draws, world)
    if is_same:
        other = fact
    elif draws.chance(0.5):
        other = draws.pick([f for f in world.facts(fact.person) if f != fact])
    first, second = [
        statements.fact_question(situations.teller, world, about)
        for about in (fact, other)
    ]
    if is_same and first.answer != second.answer:
        # "who is the baker of ..." asks for the person, not for the trade.
        second = first
    return [
        situations.teller.clause(question.text, question.roles, "present")
        for question in (first, second)
    ]


def _event_questions(situations, is_same):
    draws = situations.draws
    here = situations.situation()
    event = other = draws.pick(here.story.events)
    asked = again = draws.pick(event.kind.questions)[0]
    if not is_same:
        choice = draws.pick(("person", "story", "question"))
        if choice == "person":
            other = entailments.with_outsider(situations, here, event) or event
        else:
            if choice == "story":
                other = draws.pick(here.story.events)
            again = draws.pick(other.kind.questions)[0]
    return [
        situations.teller.clause(template, about.roles)
        for template, about in ((asked, event), (again, other))
    ]


def stsb(situations):
    """Return an Example: two sentences with a score of `SCORES`."""
    draws = situations.draws
    here = situations.situation()
    event = draws.pick(here.story.events)
    relation = draws.pick(tuple(SCORES))
    form, other = "said", event
    first = entailments.clause(situations, event, "said")
    if relation == "an event and what it implies":
        form = "implied"
    elif relation == "the same event at another place":
        other = _elsewhere(situations, here, event, first.template)
    elif relation == "the same event with another person":
        other = entailments.with_outsider(situations, here, event)
    elif relation == "an event and its negation":
        form = "negated"
    elif relation == "two events of one story":
        other = draws.pick([e for e in here.story.events if e is not event])
    elif relation == "two stories about the same people":
        other = draws.pick(situations.other(here).story.events)
    elif relation == "nothing":
        other = draws.pick(situations.situation().story.events)
    second = other and entailments.clause(
        situations, other, form, without=first.template
    )
    if not second or not _fits(relation, event, other, second):
        return []
    pair = draws.shuffled([first, second])
    texts = [entailments.state(situations, part) for part in pair]
    return [examples.Example(*texts, label=SCORES[relation])]


def _fits(relation, event, other, second):
    """Tell whether the sentences show what the relation says."""
    shares = bool(set(event.people) & set(other.people))
    if relation == "nothing":
        return not shares and event.kind is not other.kind
    if other is not event and not entailments.shows(second, other, event):
        return False
    if relation == "two stories about the same people":
        return shares and event.kind is not other.kind
    return True
