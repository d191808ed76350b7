"""Passage examples: RACE, Story Cloze, LAMBADA, pronoun resolution."""

import re

from gpt1_keras.data import examples
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import stories
from gpt1_keras.sample_world import world

NUM_OPTIONS = 4
# How often a story is recast to find wrong options.
_NUM_CASTS = 8
_PERSON = re.compile(r"\{(\w)(?::(?:the|first))?\}")
# A last word of LAMBADA has as many letters as names and things have.
_FEWEST_LETTERS = 5


def race_middle(source):
    """Return the Examples of a passage that names people by their names."""
    return _passage(source, source.teller, "middle")


def race_high(source):
    """Return the Examples of a passage with pronouns."""
    return _passage(source, sentences.Teller(source.draws), "high")


def _passage(source, teller, group):
    draws = source.draws
    story = source.story()
    facts, article = _article(source, story, teller)
    asked = [
        (number, *pair)
        for number, event in enumerate(story.events)
        for pair in event.kind.questions
    ]
    casts = [source.again(story) for _ in range(_NUM_CASTS)]
    found = [_ask_fact(source, story, draws.pick(facts))]
    found += [
        _ask_event(source, story, casts, *question)
        for question in draws.sample(asked, 5)
    ]
    result = []
    for question, right, *wrong in found:
        wrong = [text for text in dict.fromkeys(wrong) if text != right]
        # What the passage speaks of comes first: it is less easily ruled out.
        wrong.sort(key=lambda text: text.rstrip(".") not in article)
        options = draws.shuffled([right, *wrong[: NUM_OPTIONS - 1]])
        if len(options) == NUM_OPTIONS:
            answer = options.index(right)
            result.append(
                examples.Example(
                    article, question, tuple(options), answer, group
                )
            )
    return result


def _article(source, story, teller):
    """Return the facts told, and the text of people, facts and events."""
    draws = source.draws
    facts, texts = [], []
    for person in story.people[:3]:
        kind = "grown" if "trade" in person.traits else "other"
        line = source.teller.line(f"introduce.{kind}")
        texts.append(teller.sentence(line, {"a": person}))
        # Not trade and home, of which the introduction speaks.
        known = [
            fact
            for fact in story.world.facts(person)
            if fact.relation not in ("trade", "home", "temper")
        ]
        for fact in draws.sample(known, 1 + draws.below(2)):
            texts.append(teller.statement(fact, sentences.PAST))
            facts.append(fact)
    for event in story.events:
        for told in (event.kind.before, (_event(source, event),)):
            if told and draws.chance(0.5 if told is event.kind.before else 1):
                roles = {**event.roles, "time": draws.pick(stories.TIMES)}
                texts.append(teller.sentence(draws.pick(told), roles))
    return facts, " ".join(texts)


def _event(source, event):
    line = source.teller.line("event")
    return line.replace("{g}", source.draws.pick(event.kind.said))


def _ask_event(source, story, casts, number, question, answer):
    """Return [question, right answer, answers if others had the roles ...]."""
    event = story.events[number]
    asked = stories.slots(question)
    told = {role: event.roles[role] for role in asked}
    return [
        source.say(f"{question}?", event.roles),
        source.say(answer, event.roles),
        *(
            source.say(answer, {**cast.events[number].roles, **told})
            for cast in casts
        ),
    ]


def _ask_fact(source, story, fact):
    """Return [question, right answer, wrong answers ...]."""
    question, answer = source.teller.question(fact)
    name = world.name_of(fact.value)
    others = story.world.alternatives(fact)
    return [
        sentences.finish(f"{question}?"),
        *(
            sentences.finish(answer.replace(name, world.name_of(value)))
            for value in (fact.value, *source.draws.shuffled(others))
        ),
    ]


def story_cloze(source):
    """Return an Example whose text is four sentences, one per line.

    The choices are what happens next, and what happens in another story about
    the same people.
    """
    draws = source.draws
    story = source.story()
    last = 1 + draws.below(len(story.events) - 2)
    right = story.events[last + 1]
    wrong = draws.pick(source.other(story).events)
    told = _told(source, story, last)
    if not set(right.people) & set(wrong.people) or len(told) < 4:
        return []
    endings = [
        source.say(draws.pick(event.kind.said), event.roles)
        for event in (right, wrong)
    ]
    label = draws.below(2)
    choices = tuple(endings if label == 0 else endings[::-1])
    text = "\n".join(told[-4:])
    return [examples.Example(text, choices=choices, label=label)]


def _told(source, story, last):
    """Return the sentences of a story up to the event number `last`."""
    found = []
    for event in story.events[: last + 1]:
        if event.kind.before and source.draws.chance(0.6):
            before = source.draws.pick(event.kind.before)
            found.append(source.say(before, event.roles))
        said = source.draws.pick(event.kind.said)
        found.append(source.say(said, event.roles))
        if event.kind.after and source.draws.chance(0.6):
            after = source.draws.pick(event.kind.after)
            found.append(source.say(after, event.roles))
    return found


def last_word(source):
    """Return an Example: text is part of a story without its last word.

    That word is the only choice, and occurs earlier in the text.
    """
    story = source.story()
    told = _told(source, story, len(story.events) - 1)
    for end in source.draws.shuffled(range(5, len(told) + 1)):
        passage = " ".join(told[end - 5 : end])
        match = re.fullmatch(r"(.*) (\w+)[.!?]", passage)
        if (
            match
            and len(match[2]) >= _FEWEST_LETTERS
            and match[2] in re.findall(r"\w+", match[1])
        ):
            return [examples.Example(match[1], choices=(match[2],), label=0)]
    return []


def _pronoun(source):
    """Return (sentence, pronoun, candidates, index of the right one, meanings):
    each candidate is as often the right one, and a meaning is the last clause
    as a sentence with a candidate in the pronoun's place."""
    right = source.draws.below(2)
    while True:
        event = source.draws.pick(source.story().events)
        for reason in event.kind.reasons:
            found = _resolved(source, event, reason, right)
            if found:
                return found


def _resolved(source, event, template, right):
    """Return what `_pronoun` does, or None if two persons could not be meant
    or the one that is meant is not candidate number `right`."""
    cause, joint, reason = template.rpartition("because ")
    meant = re.match(r"\{(\w):ref\}", reason)
    named = {match[1]: match[0] for match in _PERSON.finditer(cause)}
    roles = list(named)
    if not meant or len(roles) != 2 or meant[1] != roles[right]:
        return None
    if len({event.roles[role].gender for role in roles}) > 1:
        return None
    subject, rest = f"{{{meant[1]}:he}}", reason[meant.end() :]
    sentence = source.say(f"{cause}{joint}{subject}{rest}", event.roles)
    pronoun, *candidates = [
        source.teller.clause(text, event.roles)
        for text in (subject, *named.values())
    ]
    first = f"{candidates[0][0].upper()}{candidates[0][1:]}"
    if sentence.startswith(first):
        candidates[0] = first
    meanings = [source.say(f"{n}{rest}", event.roles) for n in named.values()]
    return sentence, pronoun, tuple(candidates), right, meanings


def wnli(source):
    """Return an Example: the sentence, and the clause with one candidate."""
    sentence, _, _, right, meanings = _pronoun(source)
    number = source.draws.below(2)
    label = "1" if number == right else "0"
    return [examples.Example(sentence, meanings[number], label=label)]


def dpr(source):
    """Return an Example: text is the sentence, text_pair its pronoun, choices
    the candidates, label the index of the right one."""
    sentence, pronoun, candidates, right, _ = _pronoun(source)
    return [examples.Example(sentence, pronoun, candidates, label=right)]
