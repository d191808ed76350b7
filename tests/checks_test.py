import pathlib

import pytest

from gpt1_keras import checks
from gpt1_keras import errors

INF, NAN = float("inf"), float("nan")
# Annotation, values that it allows, values that it refuses, what is asked for.
TABLE = [
    (checks.Count, [1, 64], [0, -1, 1.5, True, "1", None, 10**400], "from 1 on"),
    (checks.Count | None, [None, 2], [0, "x"], "from 1 on or None"),
    (checks.Index, [0, 5], [-1, 0.0], "whole number from 0 on"),
    (checks.Length, [2], [1], "whole number from 2 on"),
    (checks.Positive, [1, 1e-9], [0, -1, INF, NAN, "x"], "above 0"),
    (checks.Share, [0, 1, 0.5], [1.1, -0.1, True], "from 0 to 1"),
    (checks.Rate, [0, 0.9], [1, 2], "from 0 on and below 1"),
    (checks.Probability, [1, 0.1], [0, 2], "above 0 and up to 1"),
    (checks.Seed, [0, 42], [-1, "x", 2**32], "whole number from 0"),
    (checks.Path, ["a", pathlib.Path("b")], [3, None, "a\0b", "", " "], "path"),
    (checks.Dtype, ["float32", "mixed_bfloat16"],
     ["bfloat16", "mixed_float16", 32], "'float32' or 'mixed_bfloat16'"),
    (checks.Counts, [(1, 2), [3]], [(), 5, (0,), "ab", ("x",)], "a tuple such"),
    (str, ["", "a"], [3, "a\0"], "text in quotes"),
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
            assert message.startswith("`size` is "), message
            assert expected in message.partition(": give ")[2], message
            assert message.isprintable() and len(message) < 200


def test_marks():
    assert checks.is_recipe(checks.Count)
    assert not checks.is_recipe(checks.NotRecipe[checks.Count | None])
    assert checks.is_location(checks.Location[str])
    assert not checks.is_location(checks.NotRecipe[str])
    assert checks.is_path(checks.Location[checks.Path | None])
    assert not checks.is_path(str | None)


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


def test_find_name_names_the_nearest():
    known = {"story_cloze": 1, "sst2": 2, "stsb": 3}
    assert checks.find_name("sst2", known, "task") == 2
    for name, advice in (
        ("storycloze", "did you mean 'story_cloze'?"),
        ("SST-2", "did you mean 'sst2'?"),
        ("xyz", "take one of story_cloze, sst2, stsb"),
        (None, "take one of"),
        (["sst2"], "there is no task ['sst2']"),
    ):
        with pytest.raises(errors.InputError) as caught:
            checks.find_name(name, known, "task")
        assert advice in str(caught.value)


def test_check_names_wants_a_tuple_of_different_names():
    keywords = {"dial": "TASKS", "example": ("cola", "rte")}
    for given in (("cola",), ["cola", "rte"]):
        checks.check_names(given, **keywords)
    checks.check_names((), may_be_empty=True, **keywords)
    for given, advice in (
        ("cola", "TASKS is 'cola': give a tuple: ('cola',)"),
        ((), "TASKS is (): give different names, as in ('cola', 'rte') or"),
        (("cola", "cola"), "give different names"),
        ((["cola"],), "give different names"),
        (7, "TASKS is 7: give"),
        (None, "TASKS is None: give"),
    ):
        with pytest.raises(errors.InputError) as caught:
            checks.check_names(given, **keywords)
        assert advice in str(caught.value)
