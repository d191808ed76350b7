import dataclasses

import pytest

from gpt1_keras.data import examples


def test_only_a_text_is_needed():
    example = examples.Example("a")
    assert dataclasses.astuple(example) == ("a", "", (), None, "")


def test_is_a_value():
    example = examples.Example("a", choices=("b",), label=0)
    assert example == examples.Example("a", choices=("b",), label=0)
    assert len({example, examples.Example("a")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        example.text = "c"
