"""Books: heroes with a wish, what they need for it, and the great day."""

import dataclasses

from gpt1_keras.data.sample_world import chapters
from gpt1_keras.data.sample_world import draws as draws_module
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import library
from gpt1_keras.data.sample_world import plots
from gpt1_keras.data.sample_world import population

BOOKS_PER_SERIES = population.NUM_TOWNS
# Words of a part: one hero's wish from the first day to the last.
WORDS_PER_PART = 25_000
NUM_VISITORS = 6
_PART_NAMES = "One Two Three Four Five Six Seven Eight Nine Ten".split()
# Chapters of an errand are about someone who can own what the hero needs.
_ERRAND_CHANCE = 0.8


@dataclasses.dataclass(frozen=True)
class Wish:
    """A wish of words.txt: title "The Boat", text "to build a boat and see
    the sea", needs, and last_day "launch the boat"."""

    title: str
    text: str
    needs: tuple
    last_day: str


def wish_of(person):
    """Return the Wish behind `person.wish`."""
    for title, text, needs, last_day in library.rows("wishes"):
        if text == person.wish:
            needs = tuple(need.strip() for need in needs.split(","))
            return Wish(title, text, needs, last_day)
    raise ValueError(f"{person!r} has an unknown wish: {person.wish}")


class Book:
    """Book number `index` of the corpus with the given seed.

    Four books in a row make a series: they share a `World`, and each is set
    in another of its towns. The text depends on (seed, index, words) only.

    Attributes:
        world: world.World.
        town: world.Town where it is set.
        heroes: list of (Person, the Person at their side), one for each part.
        title: str.
        memory: list of the Events told so far.
    """

    def __init__(self, seed, index, *, words):
        """`words`: the book has at least so many, and few more."""
        series, number = divmod(index, BOOKS_PER_SERIES)
        self.words = words
        self.world = population.build_world(seed, series)
        self.town = self.world.towns[number]
        self.memory = []
        self._draws = draws_module.Draws("book", seed, index)
        self._teller = language.Teller(self._draws)
        self._cast = self._choose_cast()
        num_parts = min(max(1, round(words / WORDS_PER_PART)), len(_PART_NAMES))
        self.heroes = self._choose_heroes(num_parts)
        self.title = f"{wish_of(self.heroes[0][0]).title} of {self.town.name}"
        self._planner = plots.Planner(
            self.world, self.town, self._cast, self._draws, self._teller
        )
        self._plots = []

    def chapters(self):
        """Yield (part heading or "", Chapter) in the order of the book."""
        storyteller = chapters.Storyteller(
            self.world, self._teller, self.memory
        )
        number, told = 0, 0
        first_month = self._draws.below(12)
        num_parts = len(self.heroes)
        for part, (hero, friend) in enumerate(self.heroes):
            wish = wish_of(hero)
            needs = list(self._draws.shuffled(wish.needs))
            until = self.words * (part + 1) / num_parts
            name = f"Part {_PART_NAMES[part]}. {wish.title}"
            stage = plots.FRAME[0]
            while stage:
                number += 1
                month = (first_month + number // 2) % 12
                story, errand = self._story(
                    stage, number, hero, friend, wish, needs
                )
                chapter = storyteller.chapter(
                    story, number=number, month=month, errand=errand
                )
                yield (name if stage == plots.FRAME[0] else ""), chapter
                told += sum(text.count(" ") + 1 for text in chapter.paragraphs)
                if stage == plots.FRAME[1]:
                    stage = ""
                else:
                    stage = "middle" if told < until else plots.FRAME[1]

    def paragraphs(self):
        """Yield the paragraphs of the whole book, headings among them."""
        yield self.title
        for part, chapter in self.chapters():
            if part:
                yield part
            yield chapters.heading(chapter.number, chapter.title)
            yield from chapter.paragraphs
        yield "The End"

    def _choose_cast(self):
        people = self.world.people
        natives = [p for p in people if p.home == self.town.name]
        others = [p for p in people if p.home != self.town.name]
        return natives + self._draws.sample(others, NUM_VISITORS)

    def _choose_heroes(self, count):
        """Return pairs (hero, friend) whose wishes differ."""
        found, wishes = [], set()
        natives = [p for p in self._cast if p.home == self.town.name]
        for person in self._draws.shuffled(natives):
            if len(found) < count and person.wish not in wishes:
                wishes.add(person.wish)
                friends = self.world.related(person, "best friend") or [
                    p for p in natives if p is not person
                ]
                found.append((person, friends[0]))
        return found

    def _story(self, stage, number, hero, friend, wish, needs):
        """Return (Story, Errand or None) of the next chapter."""
        if stage in plots.FRAME:
            fixed = {
                "a": hero,
                "b": friend,
                "wish": wish.text,
                "title_wish": wish.title,
                "need_list": f"{', '.join(wish.needs[:3])} and much more",
                "last_day": wish.last_day,
            }
            plot = plots.plots()[stage]
            return self._planner.story(plot, chapter=number, fixed=fixed), None
        plot = self._next_plot()
        if needs and self._fits_errand(plot, hero):
            if self._draws.chance(_ERRAND_CHANCE):
                story = self._planner.story(
                    plot, chapter=number, fixed={plot.helper: hero}
                )
                provider = story.roles["a"]
                return story, chapters.Errand(
                    hero, provider, needs.pop(), wish.text
                )
        return self._planner.story(plot, chapter=number), None

    def _next_plot(self):
        """Return a plot; all come up before any comes up again."""
        if not self._plots:
            self._plots = self._draws.shuffled(
                [p for p in plots.plots().values() if p.name not in plots.FRAME]
            )
        return self._plots.pop()

    def _fits_errand(self, plot, hero):
        constraint = plot.roles[plot.helper]
        able = constraint == "" or (constraint == "grown" and hero.trade != "")
        needed_elsewhere = hero.trade and hero.trade in plot.roles.values()
        return able and not needed_elsewhere and plot.roles["a"] != "child"
