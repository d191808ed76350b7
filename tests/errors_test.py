import pytest

from gpt1_keras import errors


def test_input_error_is_a_value_error_with_its_message():
    with pytest.raises(ValueError, match="^a.txt is empty; give another$"):
        raise errors.InputError("a.txt is empty; give another")


def test_stopped_is_no_input_error():
    """main tells the two apart by class: exit status 3 against 2."""
    assert not issubclass(errors.Stopped, errors.InputError)
    assert not issubclass(errors.InputError, errors.Stopped)
