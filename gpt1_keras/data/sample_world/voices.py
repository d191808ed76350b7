"""Direct speech: one turn, in the speaker's voice, quoted and tagged."""

import re

from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import library

_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
# "I and Tom" is "Tom and I" in a polite mouth.
_SELF_FIRST = re.compile(r"\bI and ([A-Z]\w+|you)\b")
# "the son of me" is "my son".
_OF_ME = re.compile(r"\b[Tt]he ((?:\w+ )?\w+) of (me|you)\b")
_LONG_SENTENCE = 70


def _owned(match):
    owner = "my" if match.group(2) == "me" else "your"
    return f"{owner} {match.group(1)}"


class Voices:
    """Makes turns of direct speech out of templates.

    Attributes:
        teller: language.Teller.
        roles: {role: value} known everywhere in a chapter (town, month).
    """

    def __init__(self, teller):
        self.teller = teller
        self.draws = teller.draws
        self.roles = {}
        self._last = ()

    def pause(self):
        """End an exchange: the next turn names its speaker."""
        self._last = ()

    def clause(self, speaker, hearer, template, roles, tense="past"):
        """Return the text of a template in the speaker's voice, unquoted."""
        return self._in_voice(speaker, hearer, template, roles, tense)[0]

    def turn(self, speaker, hearer, template, **roles):
        """Return one paragraph: the template as said by the speaker."""
        roles = {**self.roles, **roles, "s": speaker, "h": hearer}
        text, named = self._in_voice(speaker, hearer, template, roles, "past")
        text = grammar.finish(_SELF_FIRST.sub(r"\1 and I", text))
        alternating = self._last == (hearer, speaker)
        self._last = (speaker, hearer)
        draw = self.draws.random()
        if alternating and draw < 0.35:
            return f'"{text}"'
        if draw > 0.85:
            return f'{self._lead(speaker, hearer)} "{text}"'
        clear = alternating and speaker.gender != hearer.gender
        for person in named:
            if person is not speaker and person.gender == speaker.gender:
                clear = False
        return self._tagged(speaker, text, clear, alternating)

    def _in_voice(self, speaker, hearer, template, roles, tense):
        """Return the text and the persons it names."""
        teller = self.teller
        teller.discourse = language.Discourse()
        teller.speaker, teller.hearer = speaker, hearer
        try:
            text = teller.clause(template, roles, tense)
            text = _OF_ME.sub(_owned, text)
            return text, teller.discourse.current
        finally:
            teller.speaker = teller.hearer = None
            teller.discourse = language.Discourse()

    def _lead(self, speaker, hearer):
        roles = {**self.roles, "a": speaker, "b": hearer}
        lead = self.teller.sentence(self.teller.choose("speech.lead"), roles)
        self.teller.discourse.clear()
        return lead

    def _tagged(self, speaker, text, clear, reply):
        """Return the quoted text with "said Mara" in or after it."""
        first, *rest = _SENTENCE_END.split(text, maxsplit=1)
        if len(first) > _LONG_SENTENCE:
            first, rest = text, []
        kind = {"?": "ask", "!": "cry"}.get(first[-1])
        kind = kind or ("reply" if reply else "say")
        verb = self.draws.pick(library.words(f"tag_{kind}"))
        if clear and self.draws.chance(0.4):
            tag = f"{'she' if speaker.gender == 'f' else 'he'} {verb}"
        elif speaker.trade and self.draws.chance(0.2):
            tag = f"{verb} the {speaker.trade}"
        else:
            tag = f"{verb} {speaker.first}"
        if kind in ("say", "reply") and self.draws.chance(0.2):
            tag = f"{tag} {self.draws.pick(library.words('adverb'))}"
        if first[-1] == ".":
            first = f"{first[:-1]},"
        rest = f' "{rest[0]}"' if rest else ""
        return f'"{first}" {tag}.{rest}'
