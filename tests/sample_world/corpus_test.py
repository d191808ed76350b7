import collections
import re

from gpt1_keras.sample_world import corpus
from gpt1_keras.sample_world import world
from tests.reference import processes


def test_size_and_shape(books):
    assert len(books) == corpus.MIN_BOOKS
    assert 40_000 <= sum(len(text.split()) for text in books) <= 48_000
    for text in books:
        assert text.isascii() and text.endswith("The End\n\n")
        assert all(line == "" for line in text.split("\n")[1::2])
        assert not re.search(r"[][{}<>|]|  | [.,]|\ban? an? ", text)


def test_the_same_bytes_in_every_process():
    program = (
        "import sys; from gpt1_keras.sample_world import corpus\n"
        "sys.stdout.writelines(corpus.Book(1, 2, words=3000).paragraphs())"
    )
    expected = "".join(corpus.Book(1, 2, words=3000).paragraphs())
    for hash_seed in ("1", "2"):
        done = processes.python("-c", program, PYTHONHASHSEED=hash_seed)
        assert done.stdout == expected, done.stderr
    assert expected != "".join(corpus.Book(2, 2, words=3000).paragraphs())


def test_facts_come_back(books):
    text = " ".join(" ".join(books).split())
    people = world.build_world(3, 0).people
    named = collections.Counter(re.findall(r"\w+", text))
    assert sum(named[person.first] > 40 for person in people) > 20
    told = 0
    for name, relation in (("great fear", "fear"), ("dearest wish", "wish")):
        for person in people:
            claim = f"{person.first}'s {name} is "
            right = text.count(f"{claim}{person.traits[relation]}")
            assert text.count(claim) == right
            told += right
    assert told > 5
