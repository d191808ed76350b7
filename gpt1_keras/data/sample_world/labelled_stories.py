"""Story Cloze: four sentences, a right ending and a wrong one."""

import functools

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import events
from gpt1_keras.data.sample_world import labelled_sentences
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import situations as situations_module

GLAD_MOODS = labelled_sentences.GLAD_MOODS
UNHAPPY_MOODS = labelled_sentences.UNHAPPY_MOODS
_NUM_SENTENCES = 4
# So that three are told and one may follow.
_FEWEST_EVENTS = 4
_TRIES = 4


def story_cloze(situations):
    """Return an Example: choices are two endings, and the four sentences of
    the story are the lines of its text."""
    draws = situations.draws
    # Drawn before the story: most stories end well, but no mood is to be more
    # often right than another.
    wanted = draws.pick((None, None, None, None, GLAD_MOODS, UNHAPPY_MOODS))
    found = None
    while not found:
        found = _story(situations, wanted)
    text, endings = found
    label = draws.below(2)
    choices = tuple(endings if label == 0 else endings[::-1])
    return [examples.Example(text, choices=choices, label=label)]


def _story(situations, wanted):
    """Return (story, [right ending, wrong ending]), or None if what was drawn
    does not suit: endings are about moods, one of those `wanted`, or if None
    about what happens."""
    here = situations.situation()
    if wanted:
        last, endings = _mood(situations, here, wanted)
        told = endings and sentences(situations, here, last)
    else:
        told, endings = _next_event(situations, here)
    if not endings or len(told) < _NUM_SENTENCES:
        return None
    texts = [
        situations.say(template, event.roles)
        for template, event in told[-_NUM_SENTENCES:]
    ]
    return "\n".join(texts), endings


def sentences(situations, here, last):
    """Return (template, event) of the sentences up to the event `last`."""
    draws = situations.draws
    found = []
    for event in here.story.events[: last + 1]:
        if event.kind.before and draws.chance(0.5):
            found.append((draws.pick(event.kind.before), event))
        exact = situations_module.exact(event.kind.paraphrases)
        found.append((draws.pick(exact), event))
    return found


def _next_event(situations, here):
    """Return what is told of one of two stories, as `sentences` does, and
    two endings: what happens next, and what happens then in the other story,
    or at times what is not true after all this."""
    draws = situations.draws
    if len(here.story.events) < _FEWEST_EVENTS:
        return (), None
    for _ in range(_TRIES):
        there = situations.other(here)
        if len(there.story.events) >= _FEWEST_EVENTS:
            break
    else:
        return (), None
    # Either could be told, so that no ending is more often right.
    if draws.chance(0.5):
        here, there = there, here
    events_here, events_there = here.story.events, there.story.events
    count = min(len(events_here), len(events_there))
    last = draws.pick(range(_FEWEST_EVENTS - 2, count - 1))
    told = sentences(situations, here, last)
    if len(sentences(situations, there, last)) < _NUM_SENTENCES:
        return (), None
    right, wrong = events_here[last + 1], events_there[last + 1]
    for event, other in ((right, there), (wrong, here)):
        if not set(event.people) & set(other.people):
            return (), None
    if draws.chance(0.15):
        kind = events_here[last].kind
        texts = (kind.entailed, kind.contradicted)
        right = wrong = events_here[last]
    elif draws.chance(0.4):
        texts = (right.kind.entailed, wrong.kind.entailed)
    else:
        texts = (right.kind.paraphrases, wrong.kind.paraphrases)
    endings = [
        situations.say(draws.pick(choice), event.roles)
        for choice, event in zip(texts, (right, wrong), strict=True)
    ]
    return told, endings


def _mood(situations, here, wanted):
    """Return the index of the last event and two endings: how it made
    someone feel, and the contrary."""
    draws = situations.draws
    moods = [
        (last, role, mood)
        for last, event in enumerate(here.story.events)
        for role, mood in event.kind.moods.items()
        if mood in wanted and last > 0
    ]
    if not moods:
        return 0, None
    last, role, mood = draws.pick(moods)
    others = UNHAPPY_MOODS if wanted is GLAD_MOODS else GLAD_MOODS
    contrary = draws.pick(_moods(others))
    event = here.story.events[last]
    roles = {**event.roles, "a": event.roles[role]}
    if draws.chance(0.5):
        return last, [
            situations.say(situations.line(f"feel.{name}"), roles)
            for name in (mood, contrary)
        ]
    line = situations.line("mood")
    words = [draws.pick(library.words(name)) for name in (mood, contrary)]
    return last, [
        situations.say(line, {**roles, "mood": word}) for word in words
    ]


@functools.cache
def _moods(wanted):
    """Return those of the moods that events bring, each as often as it is
    brought."""
    return [
        mood
        for kind in events.kinds().values()
        for mood in kind.moods.values()
        if mood in wanted
    ]
