"""Allowed values of parameters, declared in their annotations.

Parameters of runs and fields of a `value_object` are annotated with the types
below (`Count`, `Rate`, `Path | None` ...). `config.resolve` checks what gin
files say before anything starts; a value object checks its own fields when it
is created. `NotRecipe` and `Location` tell what is part of a run's identity.
"""

import collections.abc
import dataclasses
import difflib
import inspect
import itertools
import os
import re
import types
import typing

from gpt1_keras import errors


@dataclasses.dataclass(frozen=True)
class Mark:
    """What an annotation says of a parameter beyond its type."""

    # Bounds of a number or of a length; `above` and `below` are exclusive.
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    recipe: bool = True  # whether data, model or measurements depend on it
    is_location: bool = False  # the recipe holds only whether it is given
    is_path: bool = False  # not empty; a leading `~` is expanded
    is_unique: bool = False  # no item of the tuple occurs twice
    arguments: tuple = ()  # that the caller of the function gives it


_T = typing.TypeVar("_T")
NotRecipe = typing.Annotated[_T, Mark(recipe=False)]
Location = typing.Annotated[_T, Mark(is_location=True)]

Count = typing.Annotated[int, Mark(low=1)]
Index = typing.Annotated[int, Mark(low=0)]
Length = typing.Annotated[int, Mark(low=2)]
Port = typing.Annotated[int, Mark(low=0, high=65535)]
Seed = typing.Annotated[int, Mark(low=0, high=2**32 - 1)]
NumTransferredLayers = typing.Annotated[int, Mark(low=-1)] | None
Counts = typing.Annotated[tuple[Count, ...], Mark(low=1)]
BucketLengths = NotRecipe[Counts]  # that batches are padded to
SoftmaxChunk = NotRecipe[Count]  # tokens whose logits are in memory at a time
Column = typing.Annotated[str, Mark(low=1)]
Names = typing.Annotated[tuple[Column, ...], Mark(low=1, is_unique=True)]
Positive = typing.Annotated[float, Mark(above=0)]
NotNegative = typing.Annotated[float, Mark(low=0)]
Seeds = typing.Annotated[tuple[Seed, ...], Mark(low=1, is_unique=True)]
Share = typing.Annotated[float, Mark(low=0, high=1)]
Fraction = typing.Annotated[float, Mark(above=0, below=1)]
Rate = typing.Annotated[float, Mark(low=0, below=1)]
UpToOne = typing.Annotated[float, Mark(above=0, high=1)]
Path = typing.Annotated[str | os.PathLike, Mark(is_path=True)]
Paths = Path | typing.Annotated[tuple[Path, ...], Mark(low=1)]
# "auto": the fastest one on this machine (`precision`).
Dtype = typing.Literal["auto", "float32", "mixed_bfloat16"]
# For prediction only: the kernels of the blocks may be integers.
PredictionDtype = typing.Literal["float32", "mixed_bfloat16", "int8"]
Split = typing.Literal["train", "dev", "test"]
Numbers = dict[str, float]  # from the name of a metric or a task
NamedNumbers = dict[str, typing.Annotated[Numbers, Mark(low=1)]]


def _function_of(*arguments):
    return typing.Annotated[collections.abc.Callable, Mark(arguments=arguments)]


BackboneBuilder = _function_of("vocabulary_size")
BatchesBuilder = _function_of("labelled")  # and keywords
FineTuningRun = _function_of("task", "data")  # and others
OptimizerBuilder = _function_of("num_steps")
ScheduleBuilder = _function_of(
    "peak_learning_rate", "num_steps", "warmup_steps"
)
TaskBuilder = _function_of("preprocessor")

UNKNOWN = object()  # a value of any type
# A float holds every integer up to the largest; what is smaller than the
# smallest is 0 in float32.
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
    """Refuse a value that `annotation` forbids; quote `shown`, if given."""
    if not fits(value, annotation):
        shown = errors.shortened(repr(value if shown is UNKNOWN else shown))
        remedy = f"give {_describe(annotation)}"
        if fits((value,), annotation):
            remedy = f"give ({shown},) with its comma"
        elif isinstance(value, int | float) and not _is_in_range(value):
            remedy += f", in size from {_SMALLEST:.0e} to {_LARGEST:.0e}"
        raise errors.InputError(f"`{name}` is {shown}: {remedy}")


def marks(annotation):
    """Return the `Mark`s of an annotation, including those inside a union."""
    kind, found = _split(annotation)
    if typing.get_origin(kind) in _UNIONS:
        found += itertools.chain(*map(marks, typing.get_args(kind)))
    return found


def find_name(name, known, kind):
    """Return `known[name]`, or refuse it and suggest the nearest `kind`."""
    if isinstance(name, str) and name in known:
        return known[name]
    advice = did_you_mean(str(name), known)
    advice = advice or f": choose one of {', '.join(known)}"
    shown = errors.shortened(repr(name))
    raise errors.InputError(f"there is no {kind} {shown}{advice}")


def did_you_mean(name, known):
    """Return "; did you mean NAME?" for a similar name, or "" without one.

    Case, hyphens and underscores are ignored, as in "SST-2" for "sst2".
    """

    def plain(text):
        return text.lower().replace("-", "").replace("_", "")

    spellings = {plain(one): one for one in known}
    near = difflib.get_close_matches(plain(name), spellings, n=1, cutoff=0.5)
    return f"; did you mean {spellings[near[0]]}?" if near else ""


def _split(annotation):
    """Return (plain annotation, its `Mark`s)."""
    if typing.get_origin(annotation) is not typing.Annotated:
        return annotation, []
    marks = [m for m in annotation.__metadata__ if isinstance(m, Mark)]
    return annotation.__origin__, marks


_UNIONS = (typing.Union, types.UnionType)
# Type -> what to give.
_KINDS = {
    type(None): "None",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    dict: "a dict",
}
# Type of a tuple's items -> an example; other items are tuples themselves.
_EXAMPLES = {int: "(64, 128)", float: "(64, 128)"}
_EXAMPLES |= dict.fromkeys((str, str | os.PathLike), "('a', 'b')")


def fits(value, annotation):
    """Return whether `annotation` allows a value."""
    kind, own_marks = _split(annotation)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if value is UNKNOWN:
        return True
    if origin in _UNIONS:
        is_right = any(fits(value, one) for one in inner)
    elif origin is typing.Literal:
        is_right = value in inner
    elif origin is tuple:
        is_right = isinstance(value, tuple | list) and all(
            fits(one, inner[0]) for one in value
        )
    elif origin is dict:
        is_right = isinstance(value, dict) and all(
            isinstance(key, str) and fits(one, inner[1])
            for key, one in value.items()
        )
    elif kind in (int, float):
        is_number = isinstance(value, int | kind) and type(value) is not bool
        is_right = is_number and _is_in_range(value)
    elif kind is str:  # Files cannot hold these characters.
        is_right = isinstance(value, str) and not re.search(
            "[\0\ud800-\udfff]", value
        )
    elif kind in (inspect.Parameter.empty, typing.Any):
        is_right = True
    else:  # Kinds that are no class, such as `list[int]`, are not checked.
        is_right = not inspect.isclass(kind) or isinstance(value, kind)
    return is_right and all(_is_within(value, mark) for mark in own_marks)


def _is_in_range(number):
    return not number or _SMALLEST <= abs(number) <= _LARGEST


def _is_within(value, mark):
    if mark.is_path:
        return bool(os.fspath(value).strip())
    size = len(value) if isinstance(value, str | tuple | list | dict) else value
    return (
        (mark.low is None or size >= mark.low)
        and (mark.high is None or size <= mark.high)
        and (mark.above is None or size > mark.above)
        and (mark.below is None or size < mark.below)
        and (not mark.is_unique or len(set(value)) == len(value))
    )


def _describe(annotation):
    kind, own_marks = _split(annotation)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if any(mark.is_path for mark in own_marks):
        return "a path in quotes"
    if kind is str and any(mark.low for mark in own_marks):
        return "a name in quotes"
    if origin is typing.Literal:
        return " or ".join(map(repr, inner))
    if origin in _UNIONS:
        return " or ".join(dict.fromkeys(map(_describe, inner)))
    if origin is tuple:
        item, limits = _split(inner[0])
        example = _EXAMPLES.get(item, "(('a', 'b'), ('c',))")
        is_unique = any(mark.is_unique for mark in own_marks)
        of = " of different values" if is_unique else ""
        if item in (int, float):
            of += "".join(f", each{_limits(mark)}," for mark in limits)
        return f"a tuple{of} such as {example}"
    if origin is dict:
        example = "0.5" if kind == Numbers else "{'cola': 0.5}"
        return f"a dict such as {{'full': {example}}}"
    if kind is collections.abc.Callable:
        return "a reference such as @module.name"
    reference = f"@{kind.__module__.rpartition('.')[2]}.{kind.__name__}()"
    return _KINDS.get(kind, reference) + "".join(map(_limits, own_marks))


def _limits(mark):
    if mark.low is not None and mark.high is not None:
        return f" from {mark.low:,} to {mark.high:,}"
    texts = {
        " of at least": mark.low,
        " above": mark.above,
        " up to": mark.high,
        " below": mark.below,
    }
    given = [f"{k} {v:g}" for k, v in texts.items() if v is not None]
    return " and".join(given)
