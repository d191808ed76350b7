"""Single-sentence examples: CoLA (acceptability), SST-2 (sentiment)."""

import re

from gpt1_keras.data import examples
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import stories
from gpt1_keras.sample_world import tables

# As in the official files, most sentences are acceptable.
SHARE_ACCEPTABLE = 0.6
MOST_WORDS = 20
# Ways to break a sentence: pattern and replacement.
_BREAKS = (
    (re.compile(r"\b(the|a|an|his|her) (\w[\w'-]*)"), r"\2 \1"),
    (re.compile(r"\b(his|her) (?=\w)"), r"\1 the "),
    (re.compile(r"\bher (?=\w)"), "she "),
    (re.compile(r"\bhis (?=\w)"), "him "),
    (re.compile(r"\b(by|in|on|of|with|for|from) (the|a|his|her) "), r"\2 \1 "),
)


def cola(source):
    """Return an Example: a sentence of the world, correct or broken."""
    is_whole = source.draws.chance(SHARE_ACCEPTABLE)
    text = ""
    while not text or text.count(" ") >= MOST_WORDS:
        sentence = _sentence(source)
        if is_whole:
            text = source.say(*sentence)
        else:
            text = _break(source, *sentence)
    return [examples.Example(text, label="1" if is_whole else "0")]


def _sentence(source):
    """Return (template, roles, tense) of a sentence."""
    draws = source.draws
    story = source.story()
    if draws.chance(0.4):
        fact = draws.pick(story.world.facts(draws.pick(story.people)))
        tense = draws.pick((sentences.PRESENT, sentences.PAST))
        return *source.teller.fact_template(fact), tense
    event = draws.pick(story.events)
    if event.kind.reasons and draws.chance(0.2):
        return draws.pick(event.kind.reasons), event.roles, sentences.PAST
    said = draws.pick(event.kind.said)
    if draws.chance(0.3) and stories.can_be_negated(said):
        return said, event.roles, sentences.NEGATED
    template = source.teller.line("event").replace("{g}", said)
    roles = {**event.roles, "time": draws.pick(stories.TIMES)}
    return template, roles, sentences.PAST


def _break(source, template, roles, tense):
    """Return the sentence with a random fault, "" if it does not apply."""
    draws = source.draws
    if draws.chance(0.6):
        teller = sentences.Teller(draws, by_name=True)
        teller.fault = sentences.WRONG_FORM
        if draws.chance(0.25):
            teller.fault = sentences.MISSING
        text = " ".join(teller.sentence(template, roles, tense).split())
        # "Her brother called Al" is no fault.
        is_fault = teller.num_faults and " called " not in text
        return text if is_fault else ""
    text = source.say(template, roles, tense)
    pattern, replacement = draws.pick(_BREAKS)
    found = list(pattern.finditer(text))
    if not found:
        return ""
    match = draws.pick(found)
    changed = match.expand(replacement)
    return f"{text[: match.start()]}{changed}{text[match.end() :]}"


def sst2(source):
    """Return an Example: an opinion, a feeling or a character."""
    draws = source.draws
    is_good = draws.chance(0.5)
    quality, other = ("good", "bad") if is_good else ("bad", "good")
    story = source.story()
    person = draws.pick(story.people)
    roles = {"town": story.town.name, "a": person}
    roles["show"] = draws.pick(tables.words("show"))
    kind = draws.random()
    if kind < 0.4:
        roles["x"] = draws.pick(tables.words(other))
        praise = draws.sample(tables.words(quality), 2)
        roles.update(zip("yz", praise, strict=True))
        section = "contrast"
    elif kind < 0.8:
        section = f"opinion.{quality}"
    else:
        section = "feel.glad" if is_good else "feel.unhappy"
    text = source.say(source.teller.line(section), roles)
    if text.count(" ") >= MOST_WORDS:
        return []
    return [examples.Example(text, label="1" if is_good else "0")]
