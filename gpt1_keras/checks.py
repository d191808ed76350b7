"""Tasks by their names, or the nearest ones there are."""

import dataclasses
import difflib
import math
import os
import types
import typing

from gpt1_keras import errors

# -----------------------------------------------------------------------------
# What values the parameters in gin files may have, declared once.


@dataclasses.dataclass(frozen=True)
class Dial:
    """What an annotation alone cannot say of a parameter.

    Attributes:
        low, high: numbers, the range; both ends belong to it.
        above, below: numbers, the range without its ends.
        choices: tuple of the values there are.
        min_length: int, the fewest values in brackets.
        recipe: bool. Whether a run with another value is another run: False
            for what changes neither data nor model nor what is measured.
        is_location: bool. Only whether it is given belongs to the recipe.
    """

    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple = ()
    min_length: int = 0
    recipe: bool = True
    is_location: bool = False


_T = typing.TypeVar("_T")
NotRecipe = typing.Annotated[_T, Dial(recipe=False)]
Location = typing.Annotated[_T, Dial(is_location=True)]

Count = typing.Annotated[int, Dial(low=1)]
Index = typing.Annotated[int, Dial(low=0)]
Positive = typing.Annotated[float, Dial(above=0)]
NotNegative = typing.Annotated[float, Dial(low=0)]
Share = typing.Annotated[float, Dial(low=0, high=1)]
Rate = typing.Annotated[float, Dial(low=0, below=1)]
Seed = typing.Annotated[int, Dial(low=0, high=2**32 - 1)]
Path = str | os.PathLike
Counts = typing.Annotated[tuple[Count, ...], Dial(min_length=1)]
Length = typing.Annotated[int, Dial(low=2)]
Probability = typing.Annotated[float, Dial(above=0, high=1)]
Port = typing.Annotated[int, Dial(low=0, high=65535)]
NumTransferredLayers = typing.Annotated[int, Dial(low=-1)] | None
Dtype = typing.Annotated[str, Dial(choices=("float32", "mixed_bfloat16"))]


@typing.dataclass_transform(frozen_default=True, kw_only_default=True)
def value_object(cls):
    """Make `cls` a frozen dataclass, made with names, of checked fields."""
    own = cls.__dict__.get("__post_init__")

    def check_fields(self):
        hints = typing.get_type_hints(cls, include_extras=True)
        for field in dataclasses.fields(self):
            check(field.name, getattr(self, field.name), hints[field.name])
        if own is not None:
            own(self)

    cls.__post_init__ = check_fields
    return dataclasses.dataclass(frozen=True, kw_only=True)(cls)


def check(name, value, annotation):
    """Refuse a value that `annotation` does not allow.

    Args:
        name: str, the parameter's; it stands in the message.
        value: any value; a person gave it.
        annotation: a type, perhaps with `Dial` marks. What is no plain type
            (a class of ours, a function) is not checked.

    Raises:
        InputError: says what to give.
    """
    if not _fits(value, annotation):
        raise errors.InputError(
            f"`{name}` is {value!r}: give {_describe(annotation)}"
        )


def is_recipe(annotation):
    """Whether a parameter of this annotation belongs to the recipe."""
    return all(mark.recipe for mark in _marks(annotation))


def is_location(annotation):
    """Whether only its being given belongs to the recipe."""
    return any(mark.is_location for mark in _marks(annotation))


def _marks(annotation):
    if typing.get_origin(annotation) is typing.Annotated:
        return [m for m in annotation.__metadata__ if isinstance(m, Dial)]
    return []


def _parts(annotation):
    """Return (plain annotation, its marks)."""
    if typing.get_origin(annotation) is typing.Annotated:
        return annotation.__origin__, _marks(annotation)
    return annotation, []


def _is_union(kind):
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _fits(value, annotation):
    kind, marks = _parts(annotation)
    if _is_union(kind):
        fits = any(_fits(value, one) for one in typing.get_args(kind))
    elif typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        fits = isinstance(value, tuple | list) and all(
            _fits(one, inner) for one in value
        )
    elif kind in (None, type(None)):
        fits = value is None
    elif kind is bool:
        fits = isinstance(value, bool)
    elif kind is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif kind is float:
        fits = (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    elif kind in (str, os.PathLike):
        fits = isinstance(value, kind)
        fits = fits and "\0" not in os.fspath(value)
    elif kind in (tuple, dict):
        fits = isinstance(value, kind)
    else:
        return True
    return fits and all(_is_within(value, mark) for mark in marks)


def _is_within(value, mark):
    if isinstance(value, tuple | list):
        return len(value) >= mark.min_length
    if value is None:
        return True
    return (
        (mark.low is None or value >= mark.low)
        and (mark.high is None or value <= mark.high)
        and (mark.above is None or value > mark.above)
        and (mark.below is None or value < mark.below)
        and (not mark.choices or value in mark.choices)
    )


def _describe(annotation):
    kind, marks = _parts(annotation)
    limits = " and".join(filter(None, map(_limits, marks)))
    choices = [repr(one) for mark in marks for one in mark.choices]
    if choices:
        return " or ".join(choices)
    if _is_union(kind):
        texts = [_describe(one) for one in typing.get_args(kind)]
        return " or ".join(dict.fromkeys(texts))
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        example = {str: "('a', 'b')"}.get(_parts(inner)[0], "(64, 128)")
        return f"values in brackets, such as {example}"
    names = {
        None: "None",
        type(None): "None",
        bool: "True or False",
        int: "a whole number",
        float: "a number",
        str: "a text in quotes",
        os.PathLike: "a path in quotes",
        tuple: "values in brackets",
        dict: "a dict",
    }
    return names.get(kind, "another value") + limits


def _limits(mark):
    if mark.low is not None and mark.high is not None:
        return f" from {mark.low:g} to {mark.high:g}"
    texts = []
    if mark.low is not None:
        texts.append(f" from {mark.low:g} on")
    if mark.above is not None:
        texts.append(f" above {mark.above:g}")
    if mark.high is not None:
        texts.append(f" up to {mark.high:g}")
    if mark.below is not None:
        texts.append(f" below {mark.below:g}")
    return " and".join(texts)


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
