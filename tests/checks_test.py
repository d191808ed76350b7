import pathlib
import typing

import pytest

from gpt1_keras import checks
from gpt1_keras import errors

INF, NAN = float("inf"), float("nan")
# Annotation, values that it allows, values that it refuses, what is asked for.
TABLE = [
    (checks.Count, [1, 64], [0, -1, 1.5, True, "1", None, 10**400], "of at least 1"),
    (checks.Count | None, [None, 2], [0, "x"], "of at least 1 or None"),
    (checks.Index, [0, 5], [-1, 0.0], "whole number of at least 0"),
    (checks.Length, [2], [1], "whole number of at least 2"),
    (checks.Positive, [1, 1e-9], [0, -1, INF, NAN, "x"], "above 0"),
    (checks.Share, [0, 1, 0.5], [1.1, -0.1, True], "from 0 to 1"),
    (checks.Rate, [0, 0.9], [1, 2], "of at least 0 and below 1"),
    (checks.UpToOne, [1, 0.1], [0, 2], "above 0 and up to 1"),
    (checks.Seeds, [(1, 2)], [(1, 1), ()], "a tuple of different values"),
    (checks.Seed, [0, 42], [-1, "x", 2**32], "whole number from 0"),
    (checks.Column | None, ["a", None], ["", 3], "a name"),
    (checks.Path, ["a", pathlib.Path("b")], [3, None, "a\0b", "", " "], "path"),
    (checks.Paths, ["a", ("a", "b")], [(), ("a", "")], "such as ('a', 'b')"),
    (checks.Dtype, ["float32", "mixed_bfloat16"],
     ["bfloat16", "mixed_float16", 32], "'float32' or 'mixed_bfloat16'"),
    (checks.Counts, [(1, 2), [3]], [(), (0,), "ab", ("x",)], "each of at "),
    (str, ["", "a"], [3, "a\0"], "text in quotes"),
    (bool, [True, False], [1, "True"], "True or False"),
    (dict, [{}], [[]], "dict"),
    (pathlib.Path, [pathlib.Path("a")], [None, "a", max], "@pathlib.Path()"),
    (list[int], [[1], None], [], ""),  # as code of others may say
    (typing.Any, [[1], None, "a"], [], ""),
    (checks.NotRecipe[checks.Count], [1], [0], "whole number"),
    # What is easily missed.
    (checks.Seeds, [], [3], "(3,) with its comma"),
    (checks.Names, [], ["rte"], "('rte',) with its comma"),
    (checks.Positive, [], [1e30], "a number above 0, in size from 1e-38 to 9e+15"),
]  # fmt: skip


def test_values_are_refused_with_what_to_give():
    for annotation, allowed, refused, expected in TABLE:
        for value in allowed:
            checks.check("size", value, annotation)
        for value in refused:
            with pytest.raises(
                errors.InputError, match="^`size` is "
            ) as caught:
                checks.check("size", value, annotation)
            message = str(caught.value)
            assert expected in message.partition(": give ")[2], message
            assert message.isprintable() and len(message) < 200
    near = checks.did_you_mean("a_b_c", ["abc", "a_b_d"])
    assert near == "; did you mean abc?"


@checks.value_object
class Sizes:
    batch: checks.Count
    steps: checks.Count | None = None


def test_value_object_checks_its_fields_and_is_frozen():
    assert Sizes(batch=2) == Sizes(batch=2, steps=None)
    with pytest.raises(errors.InputError, match="`batch`"):
        Sizes(batch=0)
    with pytest.raises(errors.InputError, match="`steps`"):
        Sizes(batch=1, steps="x")
    with pytest.raises(AttributeError):
        Sizes(batch=2).batch = 3
