"""A task by its name, or the nearest one there is."""

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


def _plain(name):
    return name.lower().replace("-", "").replace("_", "")
