import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples
from gpt1_keras.data.readers import lambada

TEST_FILE = "lambada_test_plain_text.txt"


@pytest.mark.parametrize("folder", ["lambada/", ""])
def test_last_word_is_the_choice(tmp_path, folder, logged):
    path = tmp_path / f"{folder}{TEST_FILE}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "it 's caf\xe9 time , tom\nalone\n\n`` no , ''  said  ann \n"
    )
    assert lambada.read(tmp_path, "test") == [
        examples.Example("it 's caf\xe9 time ,", choices=("tom",), label=0),
        examples.Example("`` no , '' said", choices=("ann",), label=0),
    ]
    assert logged == [f"{path} line 2: a passage of one word; skipped"]
    with pytest.raises(errors.InputError, match="development.* not exist: put"):
        lambada.read(tmp_path, "dev")
    with pytest.raises(errors.InputError, match="'train' is not one of dev, t"):
        lambada.read(tmp_path, "train")


def test_json_lines(tmp_path, logged):
    path = tmp_path / "lambada_test.jsonl"
    path.write_text('{"text": "\u201cNo,\u201d\\nsaid Ann"}\n{"text": ""}\n')
    assert lambada.read(tmp_path, "test") == [
        examples.Example("\u201cNo,\u201d said", choices=("Ann",), label=0)
    ]
    assert logged == [f"{path} line 2: text is empty; skipped"]


@pytest.mark.needs_data
def test_real_file(shared_file, logged):
    path = shared_file("data/lambada/lambada_development_plain_text.txt")
    found = lambada.read(path.parent.parent, "dev")
    assert len(found) == 4_869 and not logged
    assert all(example.choices[0].isalpha() for example in found)
