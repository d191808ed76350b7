"""Names made of syllables of our own, each used once in a whole corpus."""

import functools

from gpt1_keras.data.sample_world import draws as draws_module
from gpt1_keras.data.sample_world import library


def _join(*lists):
    joined = [""]
    for syllables in lists:
        joined = [left + right for left in joined for right in syllables]
    return joined


@functools.cache
def pools(seed):
    """Return {kind: tuple of names in random order} for the seed.

    Kinds: female, male, surname, town, river, pet. No name stands in two
    pools, none is an ordinary word of the lists or a taken name.
    """
    syllables = library.words
    taken = set(syllables("names_not_used"))
    made = {
        "female": _join(syllables("name_start"), syllables("female_end")),
        "male": _join(syllables("name_start"), syllables("male_end")),
        "surname": _join(syllables("surname_start"), syllables("surname_end")),
        "town": _join(syllables("town_start"), syllables("town_end")),
        "river": _join(syllables("river_start"), syllables("river_end")),
        "pet": _join(syllables("pet_start"), syllables("pet_end")),
    }
    result = {}
    for kind, names in made.items():
        free = [name for name in dict.fromkeys(names) if name not in taken]
        taken.update(free)
        result[kind] = tuple(draws_module.Draws(seed, kind).shuffled(free))
    return result


class Namer:
    """Hands out the names of one world, none of which another world has."""

    def __init__(self, seed, index, shares):
        """`shares`: {kind: how many names of that kind a world may use}."""
        self._names = {}
        for kind, share in shares.items():
            pool = pools(seed)[kind]
            start = index * share
            names = [pool[i % len(pool)] for i in range(start, start + share)]
            self._names[kind] = iter(names)

    def next(self, kind):
        """Return the next unused name of the kind."""
        return next(self._names[kind])
