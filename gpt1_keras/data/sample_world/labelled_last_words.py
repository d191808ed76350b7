"""LAMBADA: a passage whose last word its beginning has told."""

import re

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import labelled_stories

_NUM_SENTENCES = 5
# Names and things have as many letters, most other words fewer.
_FEWEST_LETTERS = 5


def last_word(situations):
    """Return an Example: text is part of a story but for its last word, which
    is the only one of the choices and stands in the text before; nothing
    where no sentence of the story ends so."""
    here = situations.situation()
    last = len(here.story.events) - 1
    told = [
        situations.say(template, event.roles)
        for template, event in labelled_stories.sentences(
            situations, here, last
        )
    ]
    ends = range(_NUM_SENTENCES, len(told) + 1)
    for end in situations.draws.shuffled(ends):
        passage = " ".join(told[end - _NUM_SENTENCES : end])
        match = re.fullmatch(r"(.*) (\w+)[.!?]", passage)
        if (
            match
            and len(match[2]) >= _FEWEST_LETTERS
            and match[2] in re.findall(r"\w+", match[1])
        ):
            return [examples.Example(match[1], choices=(match[2],), label=0)]
    return []
