"""The books of the sample world: a chapter for each story, as text files."""

from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.sample_world import draws as draws_module
from gpt1_keras.sample_world import generated_folder
from gpt1_keras.sample_world import sentences
from gpt1_keras.sample_world import stories
from gpt1_keras.sample_world import tables
from gpt1_keras.sample_world import world

WORDS_PER_BOOK = 75_000
FEWEST_WORDS = 4_000
# Gives even a small corpus books to train on and books to hold out.
MIN_BOOKS = 4
MANIFEST = "sample_world.json"
_TITLES = ("Stories of {}", "A Year in {}", "The People of {}", "Days in {}")


def write_corpus(directory, *, words, seed=0):
    """Write books of at least `words` words in all; return their paths.

    The same seed and words give the same bytes everywhere: a .txt file for
    each book, with a paragraph per line and an empty line after each. Fewer
    than 4,000 words raise InputError. For `directory`, see
    `generated_folder.write_once`.
    """
    if words < FEWEST_WORDS:
        raise errors.InputError(
            f"a sample corpus of {words} words is too small: ask for "
            f"{FEWEST_WORDS} or more"
        )
    return generated_folder.write_once(
        directory,
        lambda folder: _write_books(folder, words, seed),
        settings={"seed": seed, "words": words},
        manifest=MANIFEST,
    )


def _write_books(folder, words, seed):
    """Write all books; return their file names."""
    count = max(MIN_BOOKS, round(words / WORDS_PER_BOOK))
    names = []
    with console.bar("sample world: writing books", count) as advance:
        for index in range(count):
            book = Book(seed, index, words=-(-words // count))
            title = book.title.lower().replace(" ", "_")
            names.append(f"{index + 1:02d}_{title}.txt")
            text = "".join(f"{each}\n\n" for each in book.paragraphs())
            files.write_atomic(folder / names[-1], text)
            advance(1)
    return names


class Book:
    """Book number `index` of the corpus with the given seed.

    The text depends on (seed, index, words) only; it has few more than `words`
    words.
    """

    def __init__(self, seed, index, *, words):
        # Consecutive books share a world, each in another of its towns.
        series, number = divmod(index, world.NUM_TOWNS)
        self.world = world.build_world(seed, series)
        self.town = self.world.towns[number]
        self.title = _TITLES[number].format(self.town.name)
        self._words = words
        self._draws = draws_module.Draws("book", seed, index)
        self._teller = sentences.Teller(self._draws)
        # People in direct speech use names instead of pronouns.
        self._voice = sentences.Teller(self._draws, by_name=True)
        self._plots = []
        self._told = []
        self._met = set()
        self._roles = {}

    def paragraphs(self):
        """Yield the paragraphs of the whole book, including headings."""
        yield self.title
        count, number = 0, 0
        while count < self._words:
            number += 1
            for paragraph in self._chapter(number):
                count += paragraph.count(" ") + 1
                yield paragraph
        yield "The End"

    def _chapter(self, number):
        story = self._next_story()
        self._roles = {**story.roles, "time": self._draws.pick(stories.TIMES)}
        title = self._draws.pick(story.plot.titles)
        words = self._voice.clause(title, self._roles).split()
        title = " ".join(f"{word[0].upper()}{word[1:]}" for word in words)
        yield f"Chapter {number}. {title}"
        yield self._line("weather")
        present = []
        for event in story.events:
            for person in event.people:
                if person not in present:
                    present.append(person)
                    yield self._introduction(person)
            yield self._event(event)
            for speaker, hearer, words in event.kind.speeches:
                pair = event.roles[speaker], event.roles[hearer]
                yield self._speech(*pair, words, event.roles)
            for interlude in self._draws.sample(_INTERLUDES, 2):
                yield from interlude(self, story, event, present)
            self._told.append(event)
            self._roles["time"] = self._draws.pick(stories.TIMES)
        yield from self._opinion(story, event, present)
        yield self._wrapped("recap", story.events[0])

    def _next_story(self):
        """Return a Story; every plot is used before any repeats."""
        story = None
        while story is None:
            if not self._plots:
                self._plots = self._draws.shuffled(stories.plots())
            story = stories.cast_story(
                self._plots.pop(), self.world, self.town, self._draws
            )
        return story

    # Paragraphs.

    def _line(self, section, **roles):
        """Return a line of sentences.txt as a paragraph."""
        self._teller.forget()
        return self._more(section, **roles)

    def _more(self, section, **roles):
        """Return a line that continues the paragraph."""
        roles = {**self._roles, **roles}
        return self._teller.sentence(self._teller.line(section), roles)

    def _wrapped(self, section, event):
        """Return the event, told in a sentence of the section."""
        said = self._draws.pick(event.kind.said)
        line = self._teller.line(section).replace("{g}", said)
        return self._teller.sentence(line, {**self._roles, **event.roles})

    def _introduction(self, person):
        self._teller.forget()
        if person in self._met:
            found = [self._more("introduce.again", a=person)]
        elif "trade" in person.traits:
            found = [
                self._more("introduce.grown", a=person),
                self._more("introduce.work", a=person),
            ]
        else:
            found = [self._more("introduce.other", a=person)]
        self._met.add(person)
        known = self.world.facts(person)[2:]
        for fact in self._draws.sample(known, 1 + self._draws.below(3)):
            found.append(self._teller.statement(fact, sentences.PAST))
        return " ".join(found)

    def _event(self, event):
        """Return what led to the event, the event and what followed."""
        self._teller.forget()
        kind, draws = event.kind, self._draws
        roles = {**self._roles, **event.roles}
        found = []
        if kind.before and draws.chance(0.6):
            line = draws.pick(kind.before)
            found.append(self._teller.sentence(line, roles))
        found.append(self._wrapped("event", event))
        if kind.after and draws.chance(0.6):
            line = draws.pick(kind.after)
            found.append(self._teller.sentence(line, roles))
        if draws.chance(0.3):
            line = self._teller.line("implied")
            line = line.replace("{g}", draws.pick(kind.implied))
            found.append(self._teller.sentence(line, roles))
        return " ".join(found)

    def _speech(self, speaker, hearer, template, roles=None):
        """Return direct speech, with its speaker."""
        roles = {**self._roles, **(roles or {})}
        return self._quote(
            speaker, hearer, self._voice.sentence(template, roles)
        )

    def _quote(self, speaker, hearer, text):
        self._teller.forget()
        if text[-1] != ".":
            verb = "asked" if text[-1] == "?" else "cried"
            return f'"{text}" {verb} {speaker.first}.'
        to = f" to {hearer.first}" if self._draws.chance(0.3) else ""
        return f'"{text[:-1]}," said {speaker.first}{to}.'

    # Interludes between two events.

    def _feeling(self, story, event, present):
        for role, mood in event.kind.moods.items():
            person = event.roles[role]
            word = self._draws.pick(tables.words(mood))
            text = self._line("feel", a=person, mood=word)
            if mood in stories.GLAD + stories.UNHAPPY:
                kind = "glad" if mood in stories.GLAD else "unhappy"
                text = f"{text} {self._more(f'feel.{kind}', a=person)}"
            yield text

    def _reason(self, story, event, present):
        self._teller.forget()
        for reason in event.kind.reasons:
            yield self._teller.sentence(reason, event.roles)

    def _news(self, story, event, present):
        """Somebody tells a person who was not there."""
        pair = self._present_and_absent(story, present)
        said = self._draws.pick(event.kind.said)
        yield self._speech(*pair, said, event.roles)
        moods = event.kind.moods.values()
        is_glad = not any(mood in stories.UNHAPPY for mood in moods)
        reply = self._voice.line(f"news.{'glad' if is_glad else 'sad'}")
        yield self._speech(*pair[::-1], reply)

    def _rumour(self, story, event, present):
        """Somebody has heard a falsehood and is told the truth."""
        knowing, asking = self._present_and_absent(story, present)
        false = self._draws.pick(event.kind.opposed)
        yield self._speech(
            asking, knowing, f"is it true that {false}?", event.roles
        )
        true = self._draws.pick(event.kind.said)
        yield self._speech(
            knowing, asking, f"that is not true. {true}.", event.roles
        )

    def _present_and_absent(self, story, present):
        people = set(story.people)
        absent = [p for p in self.world.people if p not in people]
        return self._draws.pick(present), self._draws.pick(absent)

    def _questions(self, story, event, present):
        """Somebody asks about the people of the story."""
        pair = self._present_and_absent(story, present)
        subject = self._draws.pick(present)
        known = self.world.facts(subject)
        for fact in self._draws.sample(known, 3):
            asked, answer = self._voice.question(fact)
            asked = sentences.finish(f"{asked}?")
            yield self._quote(*pair[::-1], asked)
            told = self._voice.statement(fact, sentences.PRESENT)
            answer = self._draws.pick((answer, told, f"{answer}. {told}"))
            yield self._quote(*pair, sentences.finish(answer))

    def _remember(self, story, event, present):
        """Two people speak of an event of an earlier chapter."""
        pair = self._present_and_absent(story, present)
        old = self._draws.pick([*self._told, event])
        line = self._voice.line("remember")
        line = line.replace("{g}", self._draws.pick(old.kind.said))
        yield self._speech(*pair, line, old.roles)
        yield self._speech(*pair[::-1], "yes, I remember it well.")

    def _opinion(self, story, event, present):
        """What people wrote about a show, and their verdict."""
        show = self._draws.pick(tables.words("show"))
        roles = {"show": show, "a": self._draws.pick(present)}
        quality, verdict = self._draws.pick(
            (("good", "positive"), ("bad", "negative"))
        )
        yield self._line("opinion.lead", **roles)
        for _ in range(2):
            opinion = self._more(f"opinion.{quality}", **roles)
            yield f"{opinion} {self._more('verdict', verdict=verdict)}"


_INTERLUDES = (
    Book._feeling,
    Book._feeling,
    Book._reason,
    Book._news,
    Book._rumour,
    Book._questions,
    Book._remember,
    Book._opinion,
)
