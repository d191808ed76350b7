import re

from gpt1_keras.data.sample_world import narration


def test_introductions_tell_true_facts(book, teller):
    narrator = narration.Narrator(book.world, teller)
    narrator.roles = {"town": book.town.name, "month": "May"}
    for person in book.world.people:
        first = narrator.introduction(person)
        assert person.first in first
        again = narrator.introduction(person)
        assert person.first in again
        for other in book.world.people:
            for text in (first, again):
                if f"a {other.pet_kind} called" in text and other.pet_name:
                    found = re.search(r"called ([A-Z]\w+)", text).group(1)
                    assert found == person.pet_name
        if person.home != book.town.name:
            assert person.home in first


def test_feelings_name_their_reason(book, teller):
    narrator = narration.Narrator(book.world, teller)
    narrator.roles = {"town": book.town.name, "month": "May"}
    event = next(e for e in book.memory if e.kind.name == "lose")
    for _ in range(10):
        text = narrator.feeling(event.roles["a"], "sad", event)
        assert event.roles["thing"] in text


def test_opinions_end_with_a_verdict_of_their_own_colour(paragraphs):
    good = bad = 0
    for text in paragraphs:
        for opinion in re.findall(
            r'"([^"]*[Vv]ery (?:positive|negative)[.!])"', text
        ):
            liked = "ery positive" in opinion
            good, bad = good + liked, bad + (not liked)
            # The first sentence never praises and blames in one breath
            # unless it says "never" or "nobody could call it".
            if liked:
                assert not re.search(r"fell asleep|fed it to", opinion)
            else:
                assert not re.search(r"for joy|asked for more", opinion)
    assert good >= 5 and bad >= 3
