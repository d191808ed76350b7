"""Is a pronoun possessive, that is: does a candidate need 's in its place?

"His", "its" and "their" are; "he", "him", "it" and "they" are not. "Her" may be
either, and so may a pronoun that the file itself hides; there the words around
it decide, by closed lists of English function words and irregular past tenses
and by the endings -ed, -ing, -ly and -s. That is a rule of thumb: "made her
bed" and "said that [his] boss at the bank was ill" are beyond it.
"""

import re

_POSSESSIVE = frozenset("his its their my your our whose".split())
_EITHER = frozenset(["her", ""])

_PREPOSITIONS = frozenset(
    "about above across against along among around at behind below beneath"
    " beside between beyond by down during for from in inside into like near"
    " of off on onto out outside over past round through to toward towards"
    " under up upon with within without".split()
)
# After them a pronoun begins a clause, as it does after a full stop.
_CONNECTIVES = frozenset(
    "after although and as because before but how if since so than that then"
    " though unless until when where whereas whether while why".split()
)
# With and without the "not" that may be joined to them.
_AUXILIARIES = frozenset(
    "am is are was were be been being have has had do does did will would can"
    " could shall should may might must ca wo".split()
)
_FUNCTION_WORDS = (
    _PREPOSITIONS
    | _AUXILIARIES
    | frozenset(
        "a an the this that these those and or but nor if because since so as"
        " than then when where while who which what why how until after before"
        " although though unless i you he she it we they me him us them not"
        " never always also often just too now there here no any"
        " all both some again away still even almost soon ever".split()
    )
)
# Of verbs whose past is not the form of a noun or an adjective.
_IRREGULAR_PASTS = frozenset(
    "became began bit blew bought broke brought built came caught chose did"
    " drank drew drove ate fell felt flew forgave forgot fought froze gave"
    " got grew had heard held hid kept knew laid lay led left lent lost made"
    " meant met paid ran rang rode rose said sang sank sat saw sent shook shot"
    " slept slid sold spent spoke spread stole stood struck swam swore taught"
    " thought threw told took tore understood went woke won wore wrote".split()
)
# Before an object and what becomes of it: "made her gasp", "keep it dry".
_CAUSATIVES = frozenset(
    "let lets letting make makes made making keep keeps kept keeping".split()
)


def is_possessive(before, pronoun, after):
    """Return whether the pronoun between two texts is possessive.

    | before           | pronoun | after                | possessive |
    |------------------|---------|----------------------|------------|
    | walked           | his     | dog .                | yes        |
    | she waved        | her     | tail .               | yes        |
    | he took          | her     | to the hospital .    | no         |
    | because          |         | feared violence .    | no         |
    | because          |         | turn was over .      | yes        |

    Args:
        before: str, what stands before it.
        pronoun: str; "" where it is not known.
        after: str, what stands behind it.
    """
    pronoun = pronoun.lower()
    if pronoun not in _EITHER:
        return pronoun in _POSSESSIVE
    following = _following_words(after)
    preceding = re.findall(r"[\w'-]+|[^\w\s]", before.lower())[-1:]
    if following == ["will"]:  # against [her] will.
        return True
    if not following or following[0] in _FUNCTION_WORDS:
        return False
    if not _CAUSATIVES.isdisjoint(preceding):
        return False
    if pronoun:
        return True
    if _is_verb(following[0]):
        return False
    if not _PREPOSITIONS.isdisjoint(preceding):
        return True
    if following[0].endswith(("ing", "ly")):
        return False
    begins_clause = not preceding or preceding[0] in _CONNECTIVES | {*".,;:!?"}
    has_verb = len(following) > 1 and _is_verb(following[1])
    if begins_clause or re.search(r"[^s]s$", following[0]):
        # "[they] like it", "[it] makes us happy", but "[his] legs ached".
        return has_verb
    return True


def _following_words(text):
    """Return the word that follows directly, and the next if there is one."""
    # A quote may open before the word: his "Dibs!" was slow.
    match = re.match(r"\s+\"?([\w'-]+)(?:\W*\s+([\w'-]+))?", text.lower())
    return [word for word in match.groups() if word] if match else []


def _is_verb(word):
    """Return whether the form of a word says that it is a verb."""
    return (
        word in _AUXILIARIES
        or word in _IRREGULAR_PASTS
        or re.search(r"n't$|\w\wed$", word) is not None
    )
