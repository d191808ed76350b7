import pytest

from gpt1_keras.data.sample_world import draws
from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import plots

VERBS = (
    "do tell lie feel reason ask chat tale small_old comfort offer thanks "
    "opinion"
).split()


@pytest.mark.parametrize("name", sorted(plots.plots()))
def test_plots_use_known_events_verbs_and_roles(name):
    plot = plots.plots()[name]
    assert plot.titles and plot.scenes
    assert plot.helper == "" or plot.helper in plot.roles
    happened = []
    for (people, _), beats in plot.scenes:
        assert set(people) <= set(plot.roles)
        for beat in beats:
            assert beat[0] in VERBS
            if beat[0] == "do":
                assert beat[1] in events.kinds()
                happened.append(beat[1])
            elif beat[0] == "tell" and len(beat) == 4:
                assert beat[3] in happened, "told before it happened"
    # A beginning, a middle and an end.
    assert len(plot.scenes) >= 3
    assert len(happened) >= (1 if name in plots.FRAME else 2)


def test_stories_fill_every_role_their_events_name(book):
    for _, chapter in book.told:
        story = chapter.story
        people = [story.roles[role] for role in story.plot.roles]
        assert len(set(map(id, people))) == len(people)
        for event in story.events:
            assert event.kind.slots <= set(event.roles)


def test_causes_lead_back_to_the_first_event(book):
    story = book.told[3][1].story
    event, chain = story.events[-1], []
    while event:
        chain.append(event)
        event = event.cause
    assert chain[::-1] == story.events


def test_constraints_are_kept(book, teller):
    planner = plots.Planner(
        book.world, book.town, book.world.people, draws.Draws(1), teller
    )
    for _ in range(20):
        roles = planner.story(plots.plots()["lost_child"], chapter=1).roles
        assert roles["a"].age == "child"
        parents = [
            *book.world.related(roles["a"], "father"),
            *book.world.related(roles["a"], "mother"),
        ]
        assert roles["b"] in parents
        roles = planner.story(plots.plots()["illness"], chapter=1).roles
        assert roles["c"].trade == "healer"
        roles = planner.story(plots.plots()["stranger"], chapter=1).roles
        assert roles["a"].home != book.town.name
