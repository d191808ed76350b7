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

    def shuffled(self, items):
        """Return the items in random order, as a new list."""
        items = list(items)
        for last in range(len(items) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            items[last], items[other] = items[other], items[last]
        return items

    def sample(self, items, count):
        """Return `count` different items (all of them if there are fewer)."""
        return self.shuffled(items)[:count]
