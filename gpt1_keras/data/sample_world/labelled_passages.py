"""RACE: a story in a hundred words, and questions with four options."""

import re

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import chapters
from gpt1_keras.data.sample_world import labelled_facts
from gpt1_keras.data.sample_world import labelled_sentences
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import situations as situations_module
from gpt1_keras.data.sample_world import statements

NUM_OPTIONS = 4
NUM_QUESTIONS = 4
FEWEST_WORDS, MOST_WORDS = 80, 150
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?(?::(\w+))?\}")


def race_middle(situations):
    """Return the Examples of a passage that names people by their names."""
    ask = (_ask_event, _ask_event, _ask_fact, _ask_why)
    return _passage(situations, situations.teller, ask, "middle")


def race_high(situations):
    """Return the Examples of a passage with pronouns, and of questions whose
    answers do not stand in it word by word."""
    ask = (_ask_event, _ask_why, _ask_true, _ask_false)
    teller = language.Teller(situations.draws)
    return _passage(situations, teller, ask, "high")


def _passage(situations, teller, asks, group):
    here = situations.situation()
    facts, lines = _plan(situations, here)
    teller.discourse.clear()
    article = " ".join(
        situations.say(template, roles, "past", teller)
        for template, roles in lines
    )
    if not FEWEST_WORDS <= article.count(" ") + 1 <= MOST_WORDS:
        return []
    found = {}
    for ask in asks:
        question, right, wrong = ask(situations, here, facts) or ("", "", ())
        wrong = list(dict.fromkeys(text for text in wrong if text != right))
        if not question or len(wrong) < NUM_OPTIONS - 1:
            return []
        # What the passage speaks of comes first: it is less easily ruled out.
        wrong.sort(key=lambda text: text.rstrip(".") not in article)
        options = situations.draws.shuffled([right, *wrong[: NUM_OPTIONS - 1]])
        found[question] = examples.Example(
            article, question, tuple(options), options.index(right), group
        )
    return list(found.values()) if len(found) == NUM_QUESTIONS else []


def _plan(situations, here):
    """Return the facts told, and (template, roles) of each sentence."""
    draws = situations.draws
    facts, lines = [], []
    for person in here.people[:3]:
        kind = "grown" if person.trade else "child"
        roles = {"a": person}
        lines.append((situations.line(f"introduce.{kind}"), roles))
        telling = [
            fact
            for fact in here.world.facts(person)
            if fact.relation not in ("trade", "home", "hair", "eyes")
        ]
        for fact in draws.sample(telling, draws.below(2)):
            line = situations.line(f"fact.{statements.fact_section(fact)}")
            lines.append((line, statements.fact_roles(fact)))
            facts.append(fact)
    town = here.story.town
    for event in here.story.events:
        roles = {"town": town.name, "river": town.river, **event.roles}
        if event.kind.before and draws.chance(0.4):
            lines.append((draws.pick(event.kind.before), roles))
        told = draws.pick(situations_module.exact(event.kind.paraphrases))
        wrapper = situations.line("event").replace("{E}", told)
        time = draws.pick(chapters.TIMES)
        lines.append((wrapper, {**roles, "time": time}))
        if event.kind.after and draws.chance(0.3):
            lines.append((draws.pick(event.kind.after), roles))
    return facts, lines


def _ask_event(situations, here, facts):
    """Return (question, right answer, wrong answers), or None."""
    draws = situations.draws
    event = draws.pick(here.story.events)
    question, answer = draws.pick(event.kind.questions)
    slots = list(_SLOT.finditer(answer))
    shown = set.intersection(
        *(set(map(_role, _SLOT.finditer(t))) for t in event.kind.paraphrases)
    )
    if not slots or not {_role(slot) for slot in slots} <= shown:
        return None
    role, attribute, form = slots[-1].groups()
    if attribute is None and form == "p":
        return None
    value = event.roles[role]
    value = getattr(value, attribute) if attribute else value
    question = situations.say(f"{question}?", event.roles)
    right = situations.say(answer, event.roles)
    wrong = [
        labelled_facts.with_value(right, value, other)
        for other in _alternatives(situations, here, role, attribute, value)
        if not hasattr(other, "first") or other.first not in question
    ]
    return question, right, wrong


def _role(slot):
    return slot.group(1)


def _alternatives(situations, here, role, attribute, value):
    """Return other values of the kind, those of the story's people first."""
    draws = situations.draws
    everyone = here.people + draws.shuffled(here.world.people)
    if hasattr(value, "gender"):
        same = [p for p in everyone if bool(p.trade) == bool(value.trade)]
        return [p for p in same if p is not value]
    if hasattr(value, "noun"):
        places = draws.shuffled(here.story.town.places.values())
        return [place for place in places if place is not value]
    if not attribute:
        setting = here.story.plot.settings.get(role, "")
        while setting.strip("{}") in here.story.plot.settings:
            setting = here.story.plot.settings[setting.strip("{}")]
        if setting.startswith("{@"):
            words = draws.shuffled(library.words(setting.strip("{@}")))
            return [word for word in words if word != value]
        attribute = setting.strip("{}").partition(".")[2]
    found = [getattr(p, attribute) for p in everyone if attribute]
    return [text for text in found if text and text != value]


def _ask_fact(situations, here, facts):
    if not facts:
        return None
    fact = situations.draws.pick(facts)
    question = statements.fact_question(situations.teller, here.world, fact)
    right = situations.say(question.answer, question.roles, "present")
    if labelled_facts.name_of(fact.value) not in right:
        return None
    others = situations.draws.shuffled(here.world.alternatives(fact))
    wrong = [
        labelled_facts.with_value(right, fact.value, other) for other in others
    ]
    return situations.question(question), right, wrong


def _ask_why(situations, here, facts):
    """Return why someone was glad or unhappy; wrong answers are events of
    the same story or of another that did not make the person feel so."""
    draws = situations.draws
    glad = labelled_sentences.GLAD_MOODS
    told = here.story.events
    event = draws.pick(told)
    if not event.kind.moods:
        return None
    role, mood = draws.pick(list(event.kind.moods.items()))
    person = event.roles[role]
    if mood not in glad + labelled_sentences.UNHAPPY_MOODS:
        return None
    others = draws.shuffled([*told, *situations.other(here).story.events])
    wrong = [
        other
        for other in others
        if not any(
            other.roles.get(name) is person and (m in glad) == (mood in glad)
            for name, m in other.kind.moods.items()
        )
    ]
    word = draws.pick(library.words(mood))
    question = situations.say(
        situations.line("ask.why"), {"a": person, "mood": word}
    )
    if event in wrong:
        return None
    answers = [_because(situations, one) for one in (event, *wrong)]
    return question, answers[0], answers[1:]


def _because(situations, event):
    exact = situations_module.exact(event.kind.paraphrases)
    template = situations.draws.pick(exact)
    return situations.say(f"because {template}", event.roles)


def _ask_true(situations, here, facts):
    return _judge(situations, here, "ask.true", "entailed", "contradicted")


def _ask_false(situations, here, facts):
    return _judge(situations, here, "ask.false", "contradicted", "entailed")


def _judge(situations, here, section, right, wrong):
    """Return a question, an answer of one kind and several of the other."""
    draws = situations.draws
    told = here.story.events
    texts = [
        situations.say(draws.pick(getattr(event.kind, field)), event.roles)
        for field, event in (
            (right, draws.pick(told)),
            *((wrong, event) for event in draws.sample(told, 5)),
        )
    ]
    return situations.line(section).capitalize(), texts[0], texts[1:]
