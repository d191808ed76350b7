import re

from gpt1_keras.data.sample_world import chapters


def test_passages_hold_the_events_of_the_story(book):
    for _, chapter in book.told:
        happened = [e for passage in chapter.passages for e in passage.events]
        assert happened == chapter.story.events
        for passage in chapter.passages:
            text = " ".join(passage.paragraphs)
            for event in passage.events:
                for person in event.people:
                    named = (person.first, f"he {person.trade}")
                    assert any(name in text for name in named)


def test_titles_have_capitals(book):
    for _, chapter in book.told:
        heading = chapters.heading(chapter.number, chapter.title)
        assert re.match(r"Chapter [CLXVI]+\. [A-Z]", heading)
        assert not re.search(r"[{}\[\]|<>]", heading)


def test_errands_are_fulfilled_in_their_chapter(book):
    counted = 0
    for _, chapter in book.told:
        text = " ".join(chapter.paragraphs)
        if re.search(r"goal was still the same|still had one great plan", text):
            counted += 1
            assert re.search(r"got it from|now had|had got", text)
    assert counted >= 3
