"""Tasks by their names, or the nearest ones there are."""

import difflib

from gpt1_keras import errors


def find(name, known, kind):
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


def check_list(names, *, dial, example, may_be_empty=False):
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
