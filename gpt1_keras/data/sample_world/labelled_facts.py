"""Facts and the questions they answer: SciTail and QNLI."""

import dataclasses

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import labelled_entailments as entailments
from gpt1_keras.data.sample_world import situations as situations_module
from gpt1_keras.data.sample_world import statements


def scitail(situations):
    """Return an Example: facts about one or two people, and a statement."""
    draws = situations.draws
    world = situations.world()
    asked, other = facts_alike(draws, world)
    label = draws.pick(("entails", "neutral"))
    section = f"fact.{statements.fact_section(asked)}"
    lines = draws.sample(situations.lines(section), 3)
    told = [asked, other] if draws.chance(0.6) else [asked]
    premise = " ".join(
        situations.say(line, statements.fact_roles(fact), "present")
        for line, fact in zip(lines[1:], draws.shuffled(told), strict=False)
    )
    hypothesis = situations.say(
        lines[0], statements.fact_roles(asked), "present"
    )
    if label == "neutral":
        wrong = draws.pick(world.alternatives(asked))
        if len(told) > 1 and draws.chance(0.6):
            wrong = other.value
        hypothesis = with_value(hypothesis, asked.value, wrong)
    if name_of(asked.value) not in premise or not hypothesis:
        return []
    return [examples.Example(premise, hypothesis, label=label)]


def facts_alike(draws, world):
    """Return Facts of one relation about two people, of different value."""
    while True:
        first, second = draws.sample(world.people, 2)
        fact = draws.pick(world.facts(first))
        for other in world.facts(second):
            if other.relation == fact.relation and other.value != fact.value:
                if fact.value is not second and other.value is not first:
                    return fact, other


def name_of(value):
    """Return how texts name the value of a Fact or a role."""
    return getattr(value, "full", None) or str(value)


def with_value(text, value, wrong):
    """Return the text with another value in it; "" if it lacks the value."""
    value, wrong = name_of(value), name_of(wrong)
    if value not in text:
        return ""
    return grammar.finish(f" {text}".replace(f" {value}", f" {wrong}", 1))


def qnli(situations):
    """Return an Example: a question, and a sentence that may answer it."""
    draws = situations.draws
    is_answered = draws.chance(0.5)
    label = entailments.ENTAILMENT if is_answered else entailments.NO_ENTAILMENT
    ask = draws.pick((_asked_fact, _asked_event, _asked_event))
    question, sentence, answer = ask(situations, is_answered)
    while (answer in sentence) != is_answered:
        question, sentence, answer = ask(situations, is_answered)
    return [examples.Example(question, sentence, label=label)]


def _asked_fact(situations, is_answered):
    """Return a question, the sentence beside it, and the answer in short."""
    draws = situations.draws
    world = situations.world()
    fact, other = facts_alike(draws, world)
    if draws.chance(0.5):
        other = draws.pick([f for f in world.facts(fact.person) if f != fact])
    question = statements.fact_question(situations.teller, world, fact)
    told = fact if is_answered else other
    line = situations.line(f"fact.{statements.fact_section(told)}")
    sentence = situations.say(line, statements.fact_roles(told), "present")
    return situations.question(question), sentence, name_of(fact.value)


def _asked_event(situations, is_answered):
    draws = situations.draws
    here = situations.situation()
    while True:
        event = draws.pick(here.story.events)
        question, answer = draws.pick(event.kind.questions)
        slots = situations_module.slots(answer)
        full = [
            text
            for text in event.kind.paraphrases
            if slots <= situations_module.slots(text)
        ]
        if slots and full:
            break
    # The end of "{a:p} {thing}" is what a sentence may say of "her whistle".
    last = answer[answer.rindex("{") :]
    last = last.replace(":full_o}", "}").replace(":full}", "}")
    answer = situations.teller.clause(last, event.roles)
    told = dataclasses.replace(
        event, kind=dataclasses.replace(event.kind, paraphrases=tuple(full))
    )
    if not is_answered:
        story = here if draws.chance(0.7) else situations.other(here)
        told = draws.pick([e for e in story.story.events if e is not event])
    part = entailments.clause(situations, told, "said")
    text = situations.say(f"{question}?", event.roles)
    return text, entailments.tell(situations, part, told, "narration"), answer
