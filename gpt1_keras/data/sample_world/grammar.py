"""English forms: verbs, articles, pronouns, sentence starts."""

import functools
import re

from gpt1_keras.data.sample_world import library

PRONOUNS = {
    # form: (masculine, feminine, of the speaker, of the hearer)
    "he": ("he", "she", "I", "you"),
    "him": ("him", "her", "me", "you"),
    "his": ("his", "her", "my", "your"),
    "himself": ("himself", "herself", "myself", "yourself"),
}
MASCULINE, FEMININE, SPEAKER, HEARER = range(4)

# The person of a verb's subject.
FIRST, SECOND, THIRD, PLURAL = "I", "you", "it", "they"

TENSES = (
    "past",  # she mended, she was
    "present",  # she mends, I am
    "perfect",  # she has mended
    "pluperfect",  # she had mended
    "future",  # she will mend
    "conditional",  # she would mend
    "negated",  # she did not mend, she was not
    "base",  # (let her) mend
    "gerund",  # mending
)

_BE = {
    "past": {FIRST: "was", SECOND: "were", THIRD: "was", PLURAL: "were"},
    "present": {FIRST: "am", SECOND: "are", THIRD: "is", PLURAL: "are"},
}
_VOWEL_LETTER_CONSONANT_SOUND = re.compile(r"(one|once|us[eu]|uni|eu)")
_SILENT_H = re.compile(r"(hour|hono|hones|heir)")
_ARTICLE = re.compile(r"\b([Aa]) (?=(\"?)(\w+))")
_INNER_START = re.compile(r"(?<=[.!?] )[a-z]")
_SMALL_WORDS = frozenset("a an and at for from in is of on the to".split())
_SIBILANT = ("s", "x", "z", "ch", "sh", "o")


@functools.cache
def _irregular():
    return {row[0]: row for row in library.rows("irregular_verbs")}


@functools.cache
def _doubling():
    return frozenset(library.words("doubling_verbs"))


@functools.cache
def past(verb):
    """Return the simple past of a verb's base form ("carry": "carried")."""
    row = _irregular().get(verb)
    return row[1] if row else _with_ed(verb)


@functools.cache
def participle(verb):
    """Return the past participle ("take": "taken")."""
    row = _irregular().get(verb)
    return row[2] if row else _with_ed(verb)


@functools.cache
def gerund(verb):
    """Return the -ing form ("stop": "stopping")."""
    if verb in _doubling():
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe")) and verb != "be":
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


@functools.cache
def third_person(verb):
    """Return the third person singular of the present ("go": "goes")."""
    if verb in ("be", "have"):
        return {"be": "is", "have": "has"}[verb]
    if verb.endswith(_SIBILANT):
        return f"{verb}es"
    if _consonant_y(verb):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _with_ed(verb):
    if verb in _doubling():
        return f"{verb}{verb[-1]}ed"
    if verb.endswith("e"):
        return f"{verb}d"
    if _consonant_y(verb):
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


def _consonant_y(verb):
    return verb.endswith("y") and verb[-2] not in "aeiou"


@functools.cache
def conjugate(verb, tense, person=THIRD, second=False):
    """Return `verb` in `tense`, agreeing with `person`.

    Args:
        verb: base form, one word.
        tense: one of `TENSES`.
        person: FIRST, SECOND, THIRD or PLURAL.
        second: True for the second verb after "and", which drops the
            auxiliary ("had gone and looked").
    """
    have = "has" if person == THIRD else "have"
    if tense == "past":
        return _BE["past"][person] if verb == "be" else past(verb)
    if tense == "present":
        if verb == "be":
            return _BE["present"][person]
        return third_person(verb) if person == THIRD else verb
    if tense in ("perfect", "pluperfect"):
        auxiliary = have if tense == "perfect" else "had"
        return participle(verb) if second else f"{auxiliary} {participle(verb)}"
    if tense in ("future", "conditional"):
        auxiliary = "will" if tense == "future" else "would"
        return verb if second else f"{auxiliary} {verb}"
    if tense == "negated":
        if verb == "be":
            return f"{_BE['past'][person]} not"
        return verb if second else f"did not {verb}"
    if tense == "base":
        return verb
    if tense == "gerund":
        return gerund(verb)
    raise ValueError(f"unknown tense {tense}")


@functools.cache
def indefinite(word):
    """Return "a" or "an", as the sound of `word` asks."""
    word = word.lower()
    if _SILENT_H.match(word):
        return "an"
    if word[0] in "aeiou" and not _VOWEL_LETTER_CONSONANT_SOUND.match(word):
        return "an"
    return "a"


@functools.cache
def plural(noun):
    """Return the plural of a noun or of a phrase that ends in its noun."""
    for singular, many in library.rows("irregular_plurals"):
        if noun == singular or noun.endswith(f" {singular}"):
            return f"{noun[: -len(singular)]}{many}"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if _consonant_y(noun) else f"{noun}s"


def title(text):
    """Return a finished title with capitals on all but the small words."""
    words = finish(text).split(" ")
    return " ".join(
        word
        if index and word in _SMALL_WORDS
        else f"{word[:1].upper()}{word[1:]}"
        for index, word in enumerate(words)
    )


def possessive(noun):
    """Return the possessive of a singular noun phrase."""
    return f"{noun}'s"


def _article(match):
    article = indefinite(match.group(3))
    return f"{match.group(1)}{article[1:]} "


def finish(text):
    """Return one or more sentences with articles, spaces and capitals right.

    Templates write every indefinite article as "a"; sentences start in lower
    case where a slot stands first.
    """
    text = _ARTICLE.sub(_article, " ".join(text.split()))
    text = _INNER_START.sub(lambda match: match.group().upper(), text)
    first = 1 if text.startswith('"') else 0
    return f"{text[:first]}{text[first : first + 1].upper()}{text[first + 1 :]}"


def roman(number):
    """Return a positive number in Roman numerals."""
    values = (100, 90, 50, 40, 10, 9, 5, 4, 1)
    letters = ("C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")
    text = ""
    for value, letter in zip(values, letters, strict=True):
        count, number = divmod(number, value)
        text += letter * count
    return text
