"""Allowed values of parameters, declared in their annotations.

A parameter of a run, or a field of a `value_object`, is annotated with one of
the types below (`Count`, `Rate`, `Path | None` ...). `config.resolve` checks
the values in gin files before anything starts; a value object checks its own
fields whenever it is created. `NotRecipe` and `Location` say whether the
parameter is part of a run's identity.
"""

import collections.abc
import dataclasses
import difflib
import inspect
import os
import re
import types
import typing

from gpt1_keras import errors


@dataclasses.dataclass(frozen=True)
class Dial:
    """Constraints on a parameter beyond its type."""

    # Inclusive and exclusive bounds: of a number, or of the length of a tuple
    # or text.
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    # False if it changes neither data nor model nor measurements: with another
    # value, the run stays the same run.
    recipe: bool = True
    is_location: bool = False  # the recipe holds only whether it is given
    is_path: bool = False  # not empty; a leading `~` is expanded
    is_unique: bool = False  # no item of the tuple occurs twice


_T = typing.TypeVar("_T")
NotRecipe = typing.Annotated[_T, Dial(recipe=False)]
Location = typing.Annotated[_T, Dial(is_location=True)]

Count = typing.Annotated[int, Dial(low=1)]
Index = typing.Annotated[int, Dial(low=0)]
Length = typing.Annotated[int, Dial(low=2)]
Port = typing.Annotated[int, Dial(low=0, high=65535)]
Seed = typing.Annotated[int, Dial(low=0, high=2**32 - 1)]
NumTransferredLayers = typing.Annotated[int, Dial(low=-1)] | None
Counts = typing.Annotated[tuple[Count, ...], Dial(low=1)]
Column = typing.Annotated[str, Dial(low=1)]
Names = typing.Annotated[tuple[Column, ...], Dial(low=1, is_unique=True)]
Positive = typing.Annotated[float, Dial(above=0)]
NotNegative = typing.Annotated[float, Dial(low=0)]
Seeds = typing.Annotated[tuple[Seed, ...], Dial(low=1, is_unique=True)]
Share = typing.Annotated[float, Dial(low=0, high=1)]
Fraction = typing.Annotated[float, Dial(above=0, below=1)]
Rate = typing.Annotated[float, Dial(low=0, below=1)]
UpToOne = typing.Annotated[float, Dial(above=0, high=1)]
Path = typing.Annotated[str | os.PathLike, Dial(is_path=True)]
# "auto": the fastest one on this machine (`precision`).
Dtype = typing.Literal["auto", "float32", "mixed_bfloat16"]
# For prediction only: the kernels of the blocks may be integers.
PredictionDtype = typing.Literal["float32", "mixed_bfloat16", "int8"]
Split = typing.Literal["train", "dev", "test"]
Numbers = dict[str, float]  # from the name of a metric or a task
NamedNumbers = dict[str, Numbers]

UNKNOWN = object()  # a value of any type
# No sensible number is larger, and a float holds every integer up to it; 0 in
# float32 is what is smaller.
_LARGEST, _SMALLEST = 2**53, 2**-126


@typing.dataclass_transform(frozen_default=True, kw_only_default=True)
def value_object(cls):
    """Make `cls` a frozen, keyword-only dataclass that checks its fields."""

    def check_fields(self):
        hints = typing.get_type_hints(cls, include_extras=True)
        for field in dataclasses.fields(self):
            check(field.name, getattr(self, field.name), hints[field.name])

    cls.__post_init__ = check_fields
    return dataclasses.dataclass(frozen=True, kw_only=True)(cls)


def check(name, value, annotation, shown=UNKNOWN):
    """Refuse a value that `annotation` does not allow, and say what to give.

    The message has `shown`, if it is given, in place of the value.
    """
    if not _fits(value, annotation):
        shown = repr(value if shown is UNKNOWN else shown)
        raise errors.InputError(
            f"`{name}` is {errors.shortened(shown)}: give"
            f" {_describe(annotation)}"
        )


def is_recipe(annotation):
    """Return whether a parameter of this annotation belongs to the recipe."""
    return all(mark.recipe for mark in _split(annotation)[1])


def is_location(annotation):
    """Return whether the recipe holds only that a value is given."""
    return any(mark.is_location for mark in _split(annotation)[1])


def is_path(annotation):
    """Return whether a text of this annotation is a path."""
    kind, marks = _split(annotation)
    return any(mark.is_path for mark in marks) or (
        _is_union(kind) and any(map(is_path, typing.get_args(kind)))
    )


def find_name(name, known, kind):
    """Return `known[name]`; `kind` says in messages what it is.

    Raises:
        InputError: there is none; suggests the nearest name.
    """
    if isinstance(name, str) and name in known:
        return known[name]
    advice = (
        did_you_mean(str(name), known) or f": choose one of {', '.join(known)}"
    )
    raise errors.InputError(
        f"there is no {kind} {errors.shortened(repr(name))}{advice}"
    )


def did_you_mean(name, known):
    """Return "; did you mean NAME?" of a similar name, or "" without one.

    Case, hyphens and underscores are ignored, as in "SST-2" for "sst2".
    """

    def plain(text):
        return text.lower().replace("-", "").replace("_", "")

    spellings = {plain(one): one for one in known}
    near = difflib.get_close_matches(plain(name), spellings, n=1, cutoff=0.5)
    return f"; did you mean {spellings[near[0]]}?" if near else ""


def _split(annotation):
    """Return (plain annotation, its `Dial` marks)."""
    if typing.get_origin(annotation) is not typing.Annotated:
        return annotation, []
    marks = [m for m in annotation.__metadata__ if isinstance(m, Dial)]
    return annotation.__origin__, marks


def _is_union(kind):
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


# Type -> what to give.
_KINDS = {
    type(None): "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    os.PathLike: "",
    dict: "a dict",
}
_LITERALS = (str, int, float, tuple, list, dict, set, bytes)
# Type of the items of a tuple -> an example; of tuples otherwise.
_EXAMPLES = {int: "(64, 128)", float: "(64, 128)", str: "('a', 'b')"}


def _fits(value, annotation):
    kind, marks = _split(annotation)
    if value is UNKNOWN:
        return True
    if _is_union(kind):
        fits = any(_fits(value, one) for one in typing.get_args(kind))
    elif typing.get_origin(kind) is typing.Literal:
        fits = isinstance(value, str) and value in typing.get_args(kind)
    elif typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)[0]
        fits = isinstance(value, tuple | list) and all(
            _fits(one, inner) for one in value
        )
    elif typing.get_origin(kind) is dict:
        inner = typing.get_args(kind)[1]
        fits = isinstance(value, dict) and all(
            isinstance(key, str) and one != {} and _fits(one, inner)
            for key, one in value.items()
        )
    elif kind in (int, float):
        is_number = isinstance(value, int | kind) and type(value) is not bool
        fits = is_number and (not value or _SMALLEST <= abs(value) <= _LARGEST)
    elif kind is str:  # Files cannot hold these characters.
        fits = isinstance(value, str) and not re.search(
            "[\0\ud800-\udfff]", value
        )
    else:
        # Gin passes objects by reference; no literal is one.
        is_literal = kind is object and isinstance(value, _LITERALS)
        is_free = kind in (inspect.Parameter.empty, typing.Any)
        is_free |= not inspect.isclass(kind)  # such as `list[int]`
        fits = is_free or (isinstance(value, kind) and not is_literal)
    return fits and all(_is_within(value, mark) for mark in marks)


def _is_within(value, mark):
    if mark.is_path:
        return bool(os.fspath(value).strip())
    size = len(value) if isinstance(value, str | tuple | list) else value
    return (
        (mark.low is None or size >= mark.low)
        and (mark.high is None or size <= mark.high)
        and (mark.above is None or size > mark.above)
        and (mark.below is None or size < mark.below)
        and (not mark.is_unique or len(set(value)) == len(value))
    )


def _describe(annotation):
    kind, marks = _split(annotation)
    if any(mark.is_path for mark in marks):
        return "a path in quotes"
    if kind is str and any(mark.low for mark in marks):
        return "a name in quotes"
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(repr, typing.get_args(kind)))
    if _is_union(kind):
        texts = [_describe(one) for one in typing.get_args(kind)]
        return " or ".join(dict.fromkeys(filter(None, texts)))
    if typing.get_origin(kind) is tuple:
        inner = _split(typing.get_args(kind)[0])[0]
        example = _EXAMPLES.get(inner, "(('a', 'b'), ('c',))")
        is_unique = any(mark.is_unique for mark in marks)
        of = " of different values" if is_unique else ""
        return f"a tuple{of} such as {example}"
    if typing.get_origin(kind) is dict:
        inner = "0.5" if kind == Numbers else "{'cola': 0.5}"
        return f"a dict such as {{'full': {inner}}}"
    module = kind.__module__.rpartition(".")[2]
    reference = f"@{module}.{kind.__name__}()"
    if kind in (object, collections.abc.Callable):
        reference = "a reference such as @module.name"
    return _KINDS.get(kind, reference) + "".join(map(_limits, marks))


def _limits(mark):
    if mark.low is not None and mark.high is not None:
        return f" from {mark.low:,} to {mark.high:,}"
    return " and".join(
        text.format(limit)
        for text, limit in (
            (" of at least {:g}", mark.low),
            (" above {:g}", mark.above),
            (" up to {:g}", mark.high),
            (" below {:g}", mark.below),
        )
        if limit is not None
    )
