import re

from gpt1_keras.sample_world import story_examples


def test_options_of_race(drawn):
    for make in (story_examples.race_middle, story_examples.race_high):
        found = drawn(make, 120)
        assert all(len(set(e.choices)) == 4 for e in found)
        assert max(sum(e.label == i for e in found) for i in range(4)) < 50
        # The passage speaks of what is right.
        spoken = [e.choices[e.label].rstrip(".")[1:] in e.text for e in found]
        assert sum(spoken) > 60


def test_endings_of_stories(drawn):
    found = drawn(story_examples.story_cloze, 100)
    assert 30 < sum(e.label for e in found) < 70
    assert all(e.text.count("\n") == 3 for e in found)


def test_the_last_word_has_been_told(drawn):
    found = drawn(story_examples.last_word, 50)
    for e in found:
        assert re.search(rf"\b{e.choices[0]}\b", e.text), e
    assert len({e.choices[0] for e in found}) > 20


def test_pronouns(drawn):
    found = drawn(story_examples.dpr, 50)
    assert 12 < sum(e.label for e in found) < 38
    for e in found:
        assert f"because {e.text_pair} " in e.text
        assert all(name in e.text for name in e.choices)
    found = drawn(story_examples.wnli, 50)
    assert 12 < sum(e.label == "1" for e in found) < 38
