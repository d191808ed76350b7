"""Chapters: a story told scene by scene, with its data beside the text."""

import dataclasses

from gpt1_keras.data.sample_world import dialogue
from gpt1_keras.data.sample_world import grammar
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import narration
from gpt1_keras.data.sample_world import plots
from gpt1_keras.data.sample_world import voices

MONTHS = (
    "January February March April May June July August September October "
    "November December"
).split()
_WEATHER = {
    "winter": ("snow", "snow", "fog", "wind", "fine"),
    "spring": ("fine", "fine", "rain", "wind"),
    "summer": ("fine", "fine", "heat", "storm", "rain"),
    "autumn": ("rain", "fog", "wind", "fine"),
}
_SEASONS = ("winter", "spring", "summer", "autumn")
TIMES = (
    "early in the morning",
    "in the morning",
    "before noon",
    "at noon",
    "in the afternoon",
    "towards evening",
    "in the evening",
    "late in the evening",
)


@dataclasses.dataclass(frozen=True)
class Passage:
    """One scene as told.

    Attributes:
        paragraphs: list of str.
        events: the Events that happen in it.
        people: the Persons that are there.
    """

    paragraphs: list
    events: list
    people: tuple


@dataclasses.dataclass(frozen=True)
class Chapter:
    """A chapter: `passages` holds its text, `story` its data."""

    number: int
    title: str
    story: plots.Story
    passages: list

    @property
    def paragraphs(self):
        """The paragraphs of all passages."""
        return [
            text for passage in self.passages for text in passage.paragraphs
        ]


@dataclasses.dataclass(frozen=True)
class Errand:
    """What the hero of a book seeks in a chapter: `need`, for `wish`."""

    hero: object
    provider: object
    need: str
    wish: str


class Storyteller:
    """Tells the stories of one book, one after another."""

    def __init__(self, world, teller, memory):
        """`memory`: list of Events of earlier chapters; told ones join it."""
        self.world = world
        self.teller = teller
        self.draws = teller.draws
        self.memory = memory
        self.narrator = narration.Narrator(world, teller)
        self.voices = voices.Voices(teller)
        self.dialogue = dialogue.Dialogue(world, self.voices, memory)
        self._introduced = set()
        self._passed = []

    def chapter(self, story, *, number, month, errand=None):
        """Return the Chapter that tells the story.

        Args:
            story: plots.Story.
            number: number of the chapter, from 1.
            month: index into `MONTHS`.
            errand: Errand, or None.
        """
        roles = {
            "town": story.town.name,
            "river": story.town.river,
            "month": MONTHS[month],
        }
        self.narrator.roles = self.voices.roles = roles
        self._introduced = set()
        self._passed = []
        title = self.teller.sentence(
            self.draws.pick(story.plot.titles), {**roles, **story.roles}
        )
        self.teller.discourse.clear()
        passages = []
        for index, scene in enumerate(story.scenes):
            first = index == 0
            self._set_time(index, len(story.scenes))
            paragraphs = self._opening(story, scene, month, first)
            if first and errand:
                paragraphs += self._errand(errand)
            paragraphs += self._beats(story, scene)
            if index == len(story.scenes) - 1:
                paragraphs += self._closing(story, scene, errand)
            happened = [b.event for b in scene.beats if b.verb == "do"]
            passages.append(Passage(paragraphs, happened, scene.people))
        self.memory.extend(story.events)
        return Chapter(number, title, story, passages)

    def _set_time(self, index, count):
        step = index * len(TIMES) // count + self.draws.below(2)
        self.narrator.when = TIMES[min(step, len(TIMES) - 1)]

    def _opening(self, story, scene, month, first):
        narrator = self.narrator
        newcomers = [p for p in scene.people if p not in self._introduced]
        self._introduced.update(newcomers)
        paragraphs = []
        if first or self.draws.chance(0.3):
            season = _SEASONS[(month + 1) % 12 // 3]
            kind = story.plot.weather or self.draws.pick(_WEATHER[season])
            paragraphs.append(narrator.weather(kind))
        paragraphs += [narrator.introduction(person) for person in newcomers]
        arrive = narrator.arrival if first else narrator.later
        paragraphs.append(arrive(scene.people, scene.place, scene.place_kind))
        return paragraphs

    def _errand(self, errand):
        paragraphs = []
        for person in (errand.hero, errand.provider):
            if person not in self._introduced:
                self._introduced.add(person)
                paragraphs.append(self.narrator.introduction(person))
        paragraphs.append(
            self.narrator.wish(
                errand.hero, errand.provider, errand.need, errand.wish
            )
        )
        return paragraphs

    def _beats(self, story, scene):
        paragraphs = []
        for beat in scene.beats:
            for person in beat.people:
                if person not in self._introduced:
                    self._introduced.add(person)
                    paragraphs.append(self.narrator.introduction(person))
            paragraphs += getattr(self, f"_{beat.verb}")(beat)
            if beat.verb in ("thanks", "tell") and self.draws.chance(0.4):
                paragraphs.append(
                    self.narrator.pause(scene.people[-1], scene.place_kind)
                )
        if len(scene.people) > 1 and self.draws.chance(0.5):
            extra = self.draws.pick((self._ask, self._chat, self._small_old))
            paragraphs += extra(plots.Beat("", scene.people[::-1], None, ()))
        return paragraphs

    def _closing(self, story, scene, errand):
        paragraphs = []
        if errand:
            pair = errand.provider, errand.hero
            paragraphs.append(self.narrator.lead("wish", *pair))
            paragraphs += self.dialogue.exchange(
                *pair, "wish.got", "wish.reply", need=errand.need
            )
            paragraphs.append(
                self.narrator.wish_count(*pair[::-1], errand.need)
            )
        if self.draws.chance(0.3):
            show = self.draws.pick(library.words("show"))
            paragraphs.append(
                self.narrator.opinions(
                    scene.people[-1], self.draws.chance(0.5), show, ""
                )
            )
        if self.draws.chance(0.7):
            paragraphs.append(self.narrator.recap(story.events))
        paragraphs.append(self.narrator.ending(scene.people[0]))
        return paragraphs

    # Beats, by the word that stands in plots.txt.

    def _do(self, beat):
        self._passed.append(beat.event)
        return [
            self.narrator.event(beat.event),
            *self.dialogue.speeches(beat.event),
            *self.narrator.aftermath(beat.event),
        ]

    def _feel(self, beat):
        person, event = beat.people[0], beat.event
        moods = event.kind.moods
        mood = next(
            (m for role, m in moods.items() if event.roles.get(role) is person),
            "surprised",
        )
        mood = beat.words[0] if beat.words else mood
        return [self.narrator.feeling(person, mood, event)]

    def _reason(self, beat):
        event = beat.event
        while not event.kind.reasons:
            event = event.cause
        return [self.narrator.reason(event)]

    def _tell(self, beat):
        return self.dialogue.tell(*beat.people, beat.event)

    def _lie(self, beat):
        return self.dialogue.deny(*beat.people, beat.event)

    def _ask(self, beat):
        asker, hearer = beat.people
        lead = self.narrator.lead("ask", asker, hearer)
        subjects = [*self._introduced]
        subjects.sort(key=lambda person: person.index)
        return [
            lead,
            *self.dialogue.ask(asker, hearer, subjects, self._passed),
        ]

    def _chat(self, beat):
        lead = self.narrator.lead("chat", *beat.people)
        return [lead, *self.dialogue.chat(*beat.people)]

    def _tale(self, beat):
        lead = self.narrator.lead("tale", *beat.people)
        return [lead, *self.dialogue.tale(*beat.people)]

    def _small_old(self, beat):
        lead = self.narrator.lead("old", *beat.people)
        return [lead, *self.dialogue.remember(*beat.people)]

    def _comfort(self, beat):
        return self.dialogue.exchange(*beat.people, "comfort", "comfort.reply")

    def _offer(self, beat):
        return self.dialogue.exchange(*beat.people, "offer", "offer.reply")

    def _thanks(self, beat):
        return self.dialogue.exchange(*beat.people, "thanks", "thanks.reply")

    def _opinion(self, beat):
        quality, show, section = beat.words
        return [
            self.narrator.opinions(
                beat.people[0], quality == "good", show, section
            )
        ]


def heading(number, title):
    """Return the heading of a chapter."""
    return f"Chapter {grammar.roman(number)}. {grammar.title(title)}"
