"""Single sentences: CoLA (is it English?) and SST-2 (is it praise?)."""

import re

from gpt1_keras.data import examples
from gpt1_keras.data.sample_world import chapters
from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import situations as situations_module
from gpt1_keras.data.sample_world import statements

# As in the official files: more sentences are acceptable than not.
SHARE_ACCEPTABLE = 0.6
MOST_WORDS = 20
GLAD_MOODS = ("happy", "proud", "grateful", "relieved")
UNHAPPY_MOODS = ("sad", "angry", "afraid", "ashamed", "worried")
# Ways to break a sentence: what is found, and what takes its place.
_BREAKS = (
    # "lost whistle her", "lost her the whistle"
    (re.compile(r"\b(the|a|an|his|her) (\w[\w'-]*)"), r"\2 \1"),
    (re.compile(r"\b(his|her) (?=\w)"), r"\1 the "),
    # "lost she whistle", "lost him whistle"
    (re.compile(r"\bher (?=\w)"), "she "),
    (re.compile(r"\bhis (?=\w)"), "him "),
    # "the by mill"
    (
        re.compile(r"\b(by|in|on|of|with|for|from) (the|a|an|his|her) "),
        r"\2 \1 ",
    ),
)


class _WrongVerbs(language.Teller):
    """Conjugates wrongly every verb whose form English cares about.

    Attributes:
        num_wrong: int. How many verbs came out wrong.
    """

    num_wrong = 0

    def verb(self, verb, subject, second, always_past):
        right = super().verb(verb, subject, second, always_past)
        wrong = right
        if self.tense == "present" or right in ("was", "were"):
            tense = "present" if self.tense == "present" else "past"
            singular, plural = (
                grammar.conjugate(verb, tense, person)
                for person in (grammar.THIRD, grammar.PLURAL)
            )
            wrong = plural if right == singular else singular
        elif right.startswith("did not "):
            wrong = f"did not {grammar.past(verb)}"
        elif right.startswith("had "):
            wrong = f"had {verb}"
        self.num_wrong += wrong != right
        return wrong


class _MissingVerbs(language.Teller):
    """Leaves out every verb.

    Attributes:
        num_missing: int. How many verbs are left out.
    """

    num_missing = 0

    def verb(self, verb, subject, second, always_past):
        self.num_missing += 1
        return ""


def cola(situations):
    """Return an Example: a sentence of the world, whole or broken."""
    draws = situations.draws
    is_whole = draws.chance(SHARE_ACCEPTABLE)
    text = ""
    while not text or text.count(" ") >= MOST_WORDS:
        sentence = _sentence(situations)
        if is_whole:
            text = situations.say(*sentence)
        else:
            text = _break(situations, *sentence)
    return [examples.Example(text, label="1" if is_whole else "0")]


def _break(situations, template, roles, tense):
    """Return the sentence with a fault, or "" if the fault drawn cannot be
    made in it."""
    draws = situations.draws
    if draws.chance(0.45):
        teller = _WrongVerbs(draws, plain=True)
        text = situations.say(template, roles, tense, teller)
        return text if teller.num_wrong else ""
    if draws.chance(0.2):
        teller = _MissingVerbs(draws, plain=True)
        text = situations.say(template, roles, tense, teller)
        return text if teller.num_missing else ""
    text = situations.say(template, roles, tense)
    pattern, replacement = draws.pick(_BREAKS)
    found = list(pattern.finditer(text))
    if not found:
        return ""
    match = draws.pick(found)
    changed = match.expand(replacement)
    return f"{text[: match.start()]}{changed}{text[match.end() :]}"


def _sentence(situations):
    """Return (template, roles, tense) of a sentence."""
    draws = situations.draws
    here = situations.situation()
    event = draws.pick(here.story.events)
    kind = draws.random()
    if kind < 0.4:
        fact = draws.pick(here.world.facts(draws.pick(here.people)))
        line = situations.line(f"fact.{statements.fact_section(fact)}")
        tense = draws.pick(("present", "present", "past"))
        return line, statements.fact_roles(fact), tense
    if kind < 0.5 and event.kind.reasons:
        return draws.pick(event.kind.reasons), event.roles, "past"
    template = draws.pick(event.kind.paraphrases)
    tense = draws.pick(("past", "negated", "pluperfect"))
    if tense == "negated" and not situations_module.can_be_negated(template):
        tense = "pluperfect"
    if tense == "past":
        template = situations.line("event").replace("{E}", template)
    roles = {**event.roles, "time": draws.pick(chapters.TIMES)}
    return template, roles, tense


def sst2(situations):
    """Return an Example: an opinion, a feeling or a character."""
    draws = situations.draws
    is_good = draws.chance(0.5)
    quality, other = ("good", "bad") if is_good else ("bad", "good")
    here = situations.situation()
    person = draws.pick(here.people)
    roles = {"town": here.story.town.name, "a": person}
    kind = draws.random()
    dish = draws.chance(0.25)
    roles["show"] = draws.pick(library.words("dish" if dish else "show"))
    if kind < 0.4:
        roles |= {"x": draws.pick(library.words(other))}
        roles |= dict(zip("yz", draws.sample(library.words(quality), 2)))
        template = situations.line("contrast")
    elif kind < 0.8:
        part = ".dish" if dish else ""
        template = situations.line(f"{quality}_opinion{part}")
    elif kind < 0.9:
        mood = draws.pick(GLAD_MOODS if is_good else UNHAPPY_MOODS)
        template = situations.line(f"feel.{mood}")
    else:
        if person.good_temper != is_good:
            return []
        template = situations.line("fact.temper")
    text = situations.say(template, roles)
    if text.count(" ") >= MOST_WORDS:
        return []
    return [examples.Example(text, label="1" if is_good else "0")]
