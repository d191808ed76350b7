from gpt1_keras.sample_world import draws
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import stories
from gpt1_keras.sample_world import world


def test_every_plot_can_be_cast_and_told():
    made = world.build_world(0, 0)
    random = draws.Draws("test")
    teller = sentences.Teller(random)
    for plot in stories.plots():
        story = stories.cast_story(plot, made, made.towns[0], random)
        assert len(set(story.people)) == len(story.people) >= 2
        for event in story.events:
            kind = event.kind
            texts = [*kind.said, *kind.implied, *kind.opposed, *kind.before]
            texts += [*kind.after, *kind.reasons, *plot.titles]
            texts += [text for pair in kind.questions for text in pair]
            texts += [words for _, _, words in kind.speeches]
            for text in texts:
                assert "{" not in teller.clause(text, event.roles)
            assert set(kind.moods) <= set(event.roles)
            assert kind.said and kind.implied and kind.opposed


def test_every_kind_of_event_happens():
    happen = set().union(*(plot.kinds for plot in stories.plots()))
    assert happen == set(stories.kinds())
