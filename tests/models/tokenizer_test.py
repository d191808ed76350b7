import numpy as np
import pytest

from gpt1_keras.models import preprocessors
from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer as text_tokenizer
from tests.reference import keras_hub_programs
from tests.reference import small_models

TEXT = "The cat sat.\nA hat."
# Letters are 1-26, then the full stop, then both again at the end of a word.
IDS = [56, 58, 19, 1, 47, 54, 59, 28, 8, 1, 47, 54]


def word_pieces():
    pieces = ["[UNK]", subwords.WordPiece.newline, "the", "cat", "s", "##at"]
    return text_tokenizer.Tokenizer([*pieces, "a", "hat", "."])


@pytest.mark.parametrize(
    "text, expected",
    [
        (TEXT, IDS),
        (TEXT.encode(), IDS),
        ([TEXT, "a"], [IDS, [28]]),
        ([TEXT.encode(), b"a"], [IDS, [28]]),
        (np.array([TEXT, "a"]), [IDS, [28]]),
    ],
)
def test_ids_of_one_string_and_many(text, expected):
    tokenizer = small_models.tokenizer_layer()
    assert tokenizer(text) == tokenizer.tokenize(text) == expected


@pytest.mark.parametrize("pipeline", [small_models.byte_pairs, word_pieces])
def test_assets_and_config_restore_it(tmp_path, pipeline):
    tokenizer = preprocessors.GPT1Tokenizer.from_pipeline(pipeline())
    tokenizer.save_assets(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {*tokenizer.file_assets}
    read = preprocessors.GPT1Tokenizer.from_config(tokenizer.get_config())
    assert read.pipeline is None and read.type == tokenizer.type
    read.load_assets(tmp_path)
    assert read.pipeline.sha256 == tokenizer.pipeline.sha256
    assert read("the cat sat") == tokenizer("the cat sat") != []


def test_keras_hub_tokenizer_program(tmp_path):
    small_models.byte_pairs().save(tmp_path)
    keras_hub_programs.programs().run_preprocessing_layer_test(
        cls=preprocessors.GPT1Tokenizer,
        init_kwargs={
            "vocabulary": str(tmp_path / "vocabulary.json"),
            "merges": str(tmp_path / "merges.txt"),
        },
        input_data=["a cat sat.", "the hat"],
        expected_output=[[28, 58, 19, 1, 47, 54], [56, 8, 1, 47]],
    )
