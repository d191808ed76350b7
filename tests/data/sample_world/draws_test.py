import os
import random
import subprocess
import sys

from gpt1_keras.data.sample_world import draws

PROGRAM = (
    "from gpt1_keras.data.sample_world import books;"
    "import hashlib;"
    "text = '\\n'.join(books.Book(3, 0, words=3000).paragraphs());"
    "print(hashlib.sha256(text.encode()).hexdigest())"
)


def test_shuffled_keeps_the_items_and_the_argument():
    items = list(range(50))
    shuffled = draws.Draws(1).shuffled(items)
    assert sorted(shuffled) == items == list(range(50))
    assert shuffled != items


def test_keys_differ_by_their_parts():
    first = [draws.Draws("a", 1).random() for _ in range(3)]
    assert first == [draws.Draws("a", 1).random() for _ in range(3)]
    assert first[0] != draws.Draws("a", 2).random()
    assert first[0] != draws.Draws("b", 1).random()


def test_below_and_pick_are_even():
    source = draws.Draws("even")
    counts = [0] * 5
    for _ in range(20_000):
        counts[source.below(5)] += 1
    assert min(counts) > 3_700
    assert {source.pick("xyz") for _ in range(100)} == set("xyz")


def test_only_the_promised_method_is_used(monkeypatch):
    for name in ("choice", "choices", "shuffle", "sample", "randrange"):
        monkeypatch.delattr(random.Random, name)
    source = draws.Draws("promise")
    assert len(source.sample(range(9), 4)) == 4
    assert 0 <= source.below(3) < 3


def test_text_does_not_depend_on_the_hash_seed():
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
