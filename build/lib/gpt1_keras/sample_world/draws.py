"""Random choices that are the same on every Python version."""

import hashlib
import random


class Draws:
    """Choices that are a pure function of `key`.

    Only `random.Random.random` is used: it is the one method whose sequence
    Python promises to keep for a given integer seed. `choice`, `shuffle` and
    `sample` carry no such promise.
    """

    def __init__(self, *key):
        text = "/".join(str(part) for part in key)
        digest = hashlib.sha256(text.encode("utf-8")).digest()
        self.random = random.Random(int.from_bytes(digest[:8], "big")).random

    def below(self, limit):
        """Return an integer in [0, limit)."""
        return int(self.random() * limit)

    def chance(self, probability):
        """Return True with the given probability."""
        return self.random() < probability

    def pick(self, items):
        """Return one item of a sequence."""
        return items[int(self.random() * len(items))]

    def sample(self, items, count):
        """Return `count` different items (all of them if there are fewer)."""
        items = list(items)
        count = min(count, len(items))
        for first in range(count):
            other = first + int(self.random() * (len(items) - first))
            items[first], items[other] = items[other], items[first]
        return items[:count]

    def shuffled(self, items):
        """Return the items in random order, as a new list."""
        return self.sample(items, len(items))
