"""Some of the rows of a benchmark, drawn at random."""

import numpy as np

from gpt1_keras import dials


def draw(size, count, *, dial):
    """Return the numbers of the drawn rows, rising, the same on every call.

    Files stand in an order that means something: RACE has its middle schools
    before its high schools, CoLA source after source.

    Args:
        size: int. Rows there are.
        count: int or None. Rows to draw; None or too many: all.
        dial: str, what `count` is called in gin, for the message.

    Returns:
        int array `[min(size, count)]`.

    Raises:
        InputError: `count` is not a whole number above 0.
    """
    dials.check_count(dial, count, or_none="for all")
    if count is None:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).permutation(size)[:count])
