"""Tasks by their names, or the nearest ones there are."""

import difflib
import math
import os

from gpt1_keras import errors

# -----------------------------------------------------------------------------
# Values that people give to dials, checked in one line.


def check_count(dial, value, *, low=1, or_none=None):
    """Refuse a value that is not a whole number from 1, or `low`, on.

    Args:
        dial: str, its name in gin.
        value: any value; a person gave it.
        low: int, the least there may be.
        or_none: str, what None means where it is allowed, such as "for all".

    Raises:
        InputError: says what to give.
    """
    if value is None and or_none is not None:
        return
    if type(value) is not int or value < low:
        more = "" if or_none is None else f", or None {or_none}"
        raise errors.InputError(
            f"{dial} is {value!r}: give a whole number from {low} on{more}"
        )


def check_counts(dial, values):
    """Refuse what is not a tuple or list, perhaps empty, of such numbers.

    Args:
        dial: str, its name in gin.
        values: any value; a person gave it.

    Raises:
        InputError: says what to give.
    """
    if not isinstance(values, tuple | list) or not all(
        type(value) is int and value > 0 for value in values
    ):
        raise errors.InputError(
            f"{dial} is {values!r}: give whole numbers in brackets, such as "
            "(64, 128)"
        )


def check_number(dial, value, *, low, high=math.inf):
    """Refuse what is not a number from `low` to `high`.

    Args:
        dial: str, its name in gin.
        value: any value; a person gave it.
        low, high: float, the least and the largest there may be.

    Raises:
        InputError: says what to give.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        span = (
            f"from {low:g} on" if high == math.inf else f"{low:g} to {high:g}"
        )
        raise errors.InputError(f"{dial} is {value!r}: give a number {span}")


def check_text(dial, value):
    """Refuse what is neither a str nor a path.

    Args:
        dial: str, its name in gin.
        value: any value; a person gave it.

    Raises:
        InputError: says what to give.
    """
    if not isinstance(value, str | os.PathLike):
        raise errors.InputError(f"{dial} is {value!r}: give it in quotes")


# -----------------------------------------------------------------------------
# Tasks by their names, or the nearest ones there are.


def find_name(name, known, kind):
    """Return `known[name]`.

    Args:
        name: str.
        known: dict.
        kind: str, what the names are of, for the message.

    Raises:
        InputError: there is none; says which name is nearest.
    """
    if name in known:
        return known[name]
    spellings = {_plain(key): key for key in known}
    nearest = difflib.get_close_matches(
        _plain(str(name)), spellings, n=1, cutoff=0.5
    )
    advice = (
        f"did you mean {spellings[nearest[0]]!r}?"
        if nearest
        else f"take one of {', '.join(known)}"
    )
    raise errors.InputError(f"there is no {kind} {name!r}: {advice}")


def check_names(names, *, dial, example, may_be_empty=False):
    """Refuse what is not a tuple or list of different names.

    Args:
        names: any value; a person gave it.
        dial: str, what it is called in gin, for the message.
        example: tuple of str, names that may be given.
        may_be_empty: bool.

    Raises:
        InputError: says what to give.
    """
    if isinstance(names, str):
        raise errors.InputError(
            f"{dial} is {names!r}: give a tuple: ({names!r},)"
        )
    if (
        not isinstance(names, list | tuple)
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) != len(names)
        or not (names or may_be_empty)
    ):
        raise errors.InputError(
            f"{dial} is {names!r}: give different names, as in {example!r}"
            f" or {example[:1]!r}"
        )


def _plain(name):
    return name.lower().replace("-", "").replace("_", "")
