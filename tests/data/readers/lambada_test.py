import pytest
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import lambada

TEST_FILE = "lambada_test_plain_text.txt"


@pytest.fixture
def warnings(monkeypatch):
    shown = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *values: shown.append(text % values)
    )
    return shown


@pytest.mark.parametrize("folder", ["lambada/", ""])
def test_last_word_is_the_choice(tmp_path, folder, warnings):
    path = tmp_path / f"{folder}{TEST_FILE}"
    path.parent.mkdir(exist_ok=True)
    path.write_text("it 's caf\xe9 time , tom\n`` no , '' said  ann \n")
    assert lambada.read(tmp_path, "test") == [
        examples.Example("it 's caf\xe9 time ,", choices=("tom",), label=0),
        examples.Example("`` no , '' said", choices=("ann",), label=0),
    ]
    assert warnings == [
        f"{path}: 2 examples, the official lambada test has 5153"
    ]
    (tmp_path / "sample_benchmarks.json").write_text("{}")
    lambada.read(tmp_path, "test")
    assert len(warnings) == 1


def test_bad_lines_and_missing(tmp_path, warnings):
    path = tmp_path / TEST_FILE
    path.write_text("a b\nalone\n\nc d\n")
    assert len(lambada.read(tmp_path, "test")) == 2
    assert warnings[0] == f"{path} line 2: a passage of one word; left out"
    with pytest.raises(errors.InputError, match="development.* not exist: put"):
        lambada.read(tmp_path, "dev")
    with pytest.raises(errors.InputError, match="'train' is none of dev, test"):
        lambada.read(tmp_path, "train")


@pytest.mark.needs_data
def test_real_file(shared_file, warnings):
    path = shared_file("data/lambada/lambada_development_plain_text.txt")
    found = lambada.read(path.parent.parent, "dev")
    assert len(found) == 4_869 and not warnings
    assert all(example.choices[0].isalpha() for example in found)
