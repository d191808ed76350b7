"""People talk: news, rumours, questions, comfort, tales, memories."""

from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import statements

GLAD_MOODS = frozenset(("happy", "proud", "grateful", "relieved"))
# Answers in the first or second person cannot stand in every sentence.
_PERSONAL = frozenset("I me my you your".split())
_PLAIN_TO_SEE = frozenset(("trade", "home", "temper", "hair", "eyes"))


def is_glad(event, person):
    """Tell whether the event pleases the person (or whoever it touches)."""
    moods = event.kind.moods
    for role, mood in moods.items():
        if event.roles.get(role) is person:
            return mood in GLAD_MOODS
    return any(mood in GLAD_MOODS for mood in moods.values())


class Dialogue:
    """Exchanges between two people; every method returns paragraphs.

    Attributes:
        world: World.
        voices: Voices.
        memory: list of Events of earlier chapters.
    """

    def __init__(self, world, voices, memory):
        self.world = world
        self.voices = voices
        self.teller = voices.teller
        self.draws = voices.draws
        self.memory = memory

    def _turn(self, speaker, hearer, section, **roles):
        template = self.teller.choose(section)
        return self.voices.turn(speaker, hearer, template, **roles)

    def exchange(self, speaker, hearer, section, reply, **roles):
        """A turn from one section and its reply from another."""
        paragraphs = [
            self._turn(speaker, hearer, section, **roles),
            self._turn(hearer, speaker, reply, **roles),
        ]
        self.voices.pause()
        return paragraphs

    def speeches(self, event):
        """What the people of the event say to each other while it happens."""
        paragraphs = []
        for speaker, hearer, text in event.kind.speeches:
            people = event.roles[speaker], event.roles[hearer]
            paragraphs.append(self.voices.turn(*people, text, **event.roles))
        self.voices.pause()
        return paragraphs

    def tell(self, speaker, hearer, event):
        """The speaker tells the hearer of the event and answers questions."""
        paragraphs = []
        if self.draws.chance(0.4):
            paragraphs.append(self._turn(speaker, hearer, "greet"))
            paragraphs.append(self._turn(hearer, speaker, "greet.reply"))
        time = self.draws.pick(library.words("news_time"))
        paragraphs.append(
            self._turn(speaker, hearer, "news", E=event, time=time)
        )
        glad = is_glad(event, speaker)
        victim = event.roles["a"]
        reply = "news.glad" if glad else "news.sad"
        paragraphs.append(
            self._turn(
                hearer,
                speaker,
                reply,
                w="people" if victim is hearer else victim,
            )
        )
        if hearer not in event.people:
            most = min(2, len(event.kind.questions))
            for _ in range(1 + self.draws.below(most)):
                paragraphs += self.question(hearer, speaker, event)
        self.voices.pause()
        return paragraphs

    def deny(self, speaker, hearer, event):
        """The speaker repeats what is said of the event; the hearer corrects
        or confirms it."""
        kind = event.kind
        if self.draws.chance(0.7):
            rumour = self.teller.from_bag(f"!{kind.name}", kind.contradicted)
            reply = "wrong.reply"
        else:
            rumour = self.teller.from_bag(f">{kind.name}", kind.entailed)
            reply = "doubt.reply"
        heard = self.voices.clause(speaker, hearer, rumour, event.roles)
        return self.exchange(speaker, hearer, "wrong", reply, g=heard, E=event)

    def ask(self, asker, hearer, subjects, events):
        """Several questions about facts of the subjects and about events."""
        facts = [
            fact
            for person in subjects
            if person is not asker
            for fact in self.world.facts(person)
            if fact.value is not asker
            and fact.value is not hearer
            # Nobody asks a friend what he can see for himself.
            and not (person is hearer and fact.relation in _PLAIN_TO_SEE)
        ]
        asked = self.draws.sample(facts, 3 + self.draws.below(3))
        strange = [event for event in events if asker not in event.people]
        asked += self.draws.sample(strange, 1)
        paragraphs = []
        for about in asked:
            paragraphs += self.question(asker, hearer, about)
        self.voices.pause()
        return paragraphs

    def question(self, asker, hearer, about):
        """One question about a Fact or an Event, and its answer."""
        if hasattr(about, "relation"):
            question = statements.fact_question(self.teller, self.world, about)
        else:
            question = statements.event_question(self.teller, about)

        def said(person, other, template):
            return self.voices.clause(
                person, other, template, question.roles, question.tense
            )

        text = said(asker, hearer, question.text)
        answer = said(hearer, asker, question.answer)
        statement = said(hearer, asker, question.statement)
        paragraphs = [self._turn(asker, hearer, "ask.first", g=f"{text}?")]
        roles = {"k": answer, "f": statement}
        if question.wrong and self.draws.chance(0.3):
            if self.draws.chance(0.6):
                guess = said(asker, hearer, question.wrong)
                reply = "guess.wrong"
                roles = {"k": guess, "r": answer, "f": statement}
            else:
                guess, reply = (
                    said(asker, hearer, question.answer),
                    "guess.right",
                )
            paragraphs[0] = self.voices.turn(
                asker,
                hearer,
                f"{{g}} {self.teller.choose('guess')}",
                g=f"{text}?",
                k=guess,
            )
        elif _PERSONAL.intersection(answer.split()):
            reply = "answer.statement"
        else:
            reply = self.draws.pick(("answer", "answer.full"))
        paragraphs.append(self._turn(hearer, asker, reply, **roles))
        return paragraphs

    def remember(self, speaker, hearer):
        """They speak of something that happened in an earlier chapter."""
        shared = [e for e in self.memory if speaker in e.people]
        if not shared:
            return self.chat(speaker, hearer)
        event = self.draws.pick(shared)
        mood = "happy" if is_glad(event, hearer) else "sad"
        mood = self.draws.pick(library.words(mood))
        paragraphs = self.exchange(
            speaker,
            hearer,
            "small.old",
            "small.old.reply",
            E=event,
            time=event.time,
            mood=mood,
        )
        if hearer not in event.people and self.draws.chance(0.6):
            paragraphs += self.question(hearer, speaker, event)
        self.voices.pause()
        return paragraphs

    def chat(self, speaker, hearer):
        """Small talk about weather, food and work."""
        topics = self.draws.sample(("weather", "food", "work"), 2)
        paragraphs = []
        for topic in topics:
            paragraphs += self.exchange(
                speaker, hearer, f"small.{topic}", f"small.{topic}.reply"
            )
        return paragraphs

    def tale(self, speaker, hearer):
        """A tale of five sentences, with its lesson."""
        x, y = self.draws.sample(library.words("story_animal"), 2)
        roles = {
            "x": x,
            "y": y,
            "flaw": self.draws.pick(library.words("story_flaw")),
            "virtue": self.draws.pick(library.words("story_virtue")),
            "good": self.draws.pick(library.words("story_good")),
        }
        tale = " ".join(self.teller.choose(f"tale.{i}") for i in range(1, 6))
        paragraphs = [
            self._turn(speaker, hearer, "tale.lead", **roles),
            self.voices.turn(speaker, hearer, tale, **roles),
            self._turn(hearer, speaker, "tale.reply", **roles),
            self._turn(speaker, hearer, "tale.after", **roles),
        ]
        self.voices.pause()
        return paragraphs
