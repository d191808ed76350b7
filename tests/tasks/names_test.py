import pytest

from gpt1_keras import errors
from gpt1_keras.tasks import names

KNOWN = {"story_cloze": 1, "sst2": 2, "stsb": 3}


@pytest.mark.parametrize("name, value", KNOWN.items())
def test_known(name, value):
    assert names.find(name, KNOWN, "task") == value


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
        names.find(name, KNOWN, "task")
    assert advice in str(error.value)
