"""One book of the sample world, written once for all tests."""

import pytest

from gpt1_keras.data.sample_world import books
from gpt1_keras.data.sample_world import draws
from gpt1_keras.data.sample_world import language
from gpt1_keras.data.sample_world import situations

WORDS = 60_000


@pytest.fixture(scope="session")
def book():
    """Return a Book whose `told` holds its (part, Chapter) pairs."""
    book = books.Book(5, 1, words=WORDS)
    book.told = list(book.chapters())
    return book


@pytest.fixture(scope="session")
def paragraphs(book):
    """Return the paragraphs of the book, without headings."""
    return [text for _, chapter in book.told for text in chapter.paragraphs]


@pytest.fixture(scope="session")
def by_first_name(book):
    """Return {first name: Person} of the book's world."""
    return {person.first: person for person in book.world.people}


@pytest.fixture
def teller():
    """Return a Teller of its own for each test."""
    return language.Teller(draws.Draws("test"))


@pytest.fixture(scope="session")
def drawn():
    """Return a function (make, count) -> list of labelled Examples."""

    def draw(make, count):
        source = situations.build(0, make.__name__)
        found = []
        while len(found) < count:
            found += make(source)
        return found[:count]

    return draw
