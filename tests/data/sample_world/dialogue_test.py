import pytest

from gpt1_keras.data.sample_world import dialogue
from gpt1_keras.data.sample_world import voices


@pytest.fixture
def talk(book, teller):
    voice = voices.Voices(teller)
    voice.roles = {"town": book.town.name, "river": book.town.river}
    voice.roles["month"] = "May"
    return dialogue.Dialogue(book.world, voice, book.memory)


def test_answers_about_facts_are_true(book, talk):
    world = book.world
    asker, hearer = world.people[0], world.people[1]
    person = next(p for p in world.people[2:] if p.pet_name)
    for relation in ("food", "fear", "pet_name", "thing"):
        fact = next(f for f in world.facts(person) if f.relation == relation)
        for _ in range(20):
            asked, answered = talk.question(asker, hearer, fact)
            assert "?" in asked
            assert fact.value.lower() in answered.lower()
            talk.voices.pause()


def test_rumours_are_answered_with_the_event(book, talk):
    event = next(e for e in book.memory if e.kind.name == "lose")
    speaker, hearer = [p for p in book.world.people if p not in event.people][
        :2
    ]
    for _ in range(10):
        paragraphs = talk.deny(speaker, hearer, event)
        assert len(paragraphs) == 2
        assert event.roles["thing"] in paragraphs[1]


def test_nobody_is_asked_what_the_asker_took_part_in(book, talk):
    event = book.memory[0]
    asker = event.people[0]
    hearer = next(p for p in book.world.people if p not in event.people)
    paragraphs = talk.ask(asker, hearer, [], [event])
    assert paragraphs == []


def test_memories_need_a_shared_past(book, talk):
    event = book.memory[0]
    stranger = next(
        p
        for p in book.world.people
        if not any(p in e.people for e in book.memory)
    )
    assert len(talk.remember(event.people[0], stranger)) >= 2
    # Without one, they speak of something else.
    assert len(talk.remember(stranger, event.people[0])) == 4


def test_gladness_follows_the_mood(book):
    event = next(e for e in book.memory if e.kind.name == "find")
    assert dialogue.is_glad(event, event.roles["c"])
    loss = next(e for e in book.memory if e.kind.name == "lose")
    assert not dialogue.is_glad(loss, loss.roles["a"])
