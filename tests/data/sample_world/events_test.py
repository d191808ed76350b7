import re

import pytest

from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import library

PERSON_AS_OBJECT = re.compile(
    r"\b(?:to|from|with|of|by|than|between) (?:he|she|I)\b"
)


@pytest.mark.parametrize("name", sorted(events.kinds()))
def test_each_kind_can_be_said_asked_entailed_and_contradicted(name):
    kind = events.kinds()[name]
    assert len(kind.paraphrases) >= 3
    assert kind.entailed and kind.contradicted and kind.questions
    assert kind.moods or name == "invite"
    lists = library.sections("words")
    assert all(mood in lists for mood in kind.moods.values())


@pytest.mark.parametrize("tense", grammar.TENSES)
def test_paraphrases_can_be_said_in_every_tense(book, teller, tense):
    for _, chapter in book.told:
        for event in chapter.story.events:
            for template in event.kind.paraphrases:
                text = teller.clause(template, event.roles, tense)
                assert not re.search(
                    r"[{}<>|\[\]]|had had had|did not not\b", text
                )
                assert not PERSON_AS_OBJECT.search(text), text


def test_an_event_in_the_first_person(book, teller):
    for _, chapter in book.told:
        for event in chapter.story.events:
            for person in event.people:
                teller.speaker = person
                text = teller.event(event)
                # The speaker never names himself.
                assert person.first not in text.split(), text


def test_people_are_those_the_paraphrases_name(book):
    for _, chapter in book.told:
        for event in chapter.story.events:
            assert 1 <= len(event.people) <= 3
            assert event.chapter == chapter.number
