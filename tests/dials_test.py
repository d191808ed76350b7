import pathlib

import pytest

from gpt1_keras import checks
from gpt1_keras import errors

INF = float("inf")
# Annotation, values that it allows, values that it refuses, what is asked for.
TABLE = [
    (checks.Count, [1, 64], [0, -1, 1.5, True, "1", None], "whole number from 1"),
    (checks.Count | None, [None, 2], [0, "x"], "from 1 on or None"),
    (checks.Index, [0, 5], [-1, 0.0], "whole number from 0 on"),
    (checks.Positive, [1, 1e-9], [0, -1, INF, float("nan"), "x"], "above 0"),
    (checks.Share, [0, 1, 0.5], [1.1, -0.1, True], "from 0 to 1"),
    (checks.Rate, [0, 0.9], [1, 2], "from 0 on and below 1"),
    (checks.Seed, [0, 42], [-1, "x", 2**32], "whole number from 0"),
    (checks.Path, ["a", pathlib.Path("b")], [3, None, "a\0b"], "in quotes"),
    (checks.Dtype, ["float32", "mixed_bfloat16"], ["bfloat16", 32], "'float32'"),
    (checks.Counts, [(1, 2), [3]], [(), 5, (0,), "ab", ("x",)], "in brackets"),
    (bool, [True, False], [1, "True"], "True or False"),
    (dict, [{}], [[]], "dict"),
    (object, [1, None, "x"], [], ""),
    (checks.NotRecipe[checks.Count], [1], [0], "whole number"),
]  # fmt: skip


def test_values_are_refused_with_what_to_give():
    for annotation, allowed, refused, expected in TABLE:
        for value in allowed:
            checks.check("size", value, annotation)
        for value in refused:
            with pytest.raises(errors.InputError) as caught:
                checks.check("size", value, annotation)
            message = str(caught.value)
            assert message.startswith(f"`size` is {value!r}: give ")
            assert expected in message and "\n" not in message


def test_marks():
    assert checks.is_recipe(checks.Count)
    assert not checks.is_recipe(checks.NotRecipe[checks.Count | None])
    assert checks.is_location(checks.Location[str])
    assert not checks.is_location(checks.NotRecipe[str])


@checks.value_object
class Sizes:
    """A value object."""

    batch: checks.Count
    steps: checks.Count | None = None

    def __post_init__(self):
        if self.batch == 13:
            raise errors.InputError("unlucky")


def test_value_object_checks_its_fields_and_is_frozen():
    assert Sizes(batch=2) == Sizes(batch=2, steps=None)
    for arguments, expected in (
        ({"batch": 0}, "`batch`"),
        ({"batch": 1, "steps": "x"}, "`steps`"),
        ({"batch": 13}, "unlucky"),
    ):
        with pytest.raises(errors.InputError, match=expected):
            Sizes(**arguments)
    with pytest.raises(AttributeError):
        Sizes(batch=2).batch = 3
