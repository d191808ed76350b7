import pytest

from gpt1_keras import checks
from gpt1_keras import errors

KNOWN = {"story_cloze": 1, "sst2": 2, "stsb": 3}


@pytest.mark.parametrize("name, value", KNOWN.items())
def test_known(name, value):
    assert checks.find_name(name, KNOWN, "task") == value


@pytest.mark.parametrize(
    "name, advice",
    [
        ("storycloze", "did you mean 'story_cloze'?"),
        ("SST-2", "did you mean 'sst2'?"),
        ("xyz", "take one of story_cloze, sst2, stsb"),
        (None, "take one of"),
        (3, "there is no task 3"),
    ],
)
def test_unknown(name, advice):
    with pytest.raises(errors.InputError) as error:
        checks.find_name(name, KNOWN, "task")
    assert advice in str(error.value)


@pytest.mark.parametrize("given", [("cola",), ["cola", "rte"]])
def test_lists_of_names(given):
    checks.check_names(given, dial="TASKS", example=("cola", "rte"))


@pytest.mark.parametrize(
    "given, advice",
    [
        ("cola", "TASKS is 'cola': give a tuple: ('cola',)"),
        ((), "TASKS is (): give different names, as in ('cola', 'rte') or"),
        (("cola", "cola"), "give different names"),
        ((["cola"],), "give different names"),
        (7, "TASKS is 7: give"),
        (None, "TASKS is None: give"),
    ],
)
def test_wrong_lists(given, advice):
    with pytest.raises(errors.InputError) as error:
        checks.check_names(given, dial="TASKS", example=("cola", "rte"))
    assert advice in str(error.value)


def test_lists_that_may_be_empty():
    checks.check_names((), dial="A", example=("b", "c"), may_be_empty=True)
