import keras_hub
import numpy as np
from keras import ops

from gpt1_keras.models import preprocessors
from gpt1_keras.models import tokenizer
from tests.reference import keras_hub_programs
from tests.reference import small_models

# `the`, `cat` and `a</w>` are pieces 56, 58 and 28 of the tokenizer.
THE, CAT, A = 56, 58, 28


def make(sequence_length=5):
    return preprocessors.GPT1CausalLMPreprocessor(
        tokenizer.GPT1Tokenizer.from_pipeline(small_models.byte_pairs()),
        sequence_length=sequence_length,
    )


def test_targets_are_the_next_tokens():
    x, y, weights = make()(["the cat", "a cat the cat the cat the"])
    np.testing.assert_array_equal(
        ops.convert_to_numpy(x["token_ids"]),
        [[THE, CAT, 0, 0, 0], [A, CAT, THE, CAT, THE]],
    )
    np.testing.assert_array_equal(
        ops.convert_to_numpy(x["padding_mask"]),
        [[1, 1, 0, 0, 0], [1, 1, 1, 1, 1]],
    )
    np.testing.assert_array_equal(
        ops.convert_to_numpy(y),
        [[CAT, 0, 0, 0, 0], [CAT, THE, CAT, THE, CAT]],
    )
    np.testing.assert_array_equal(
        ops.convert_to_numpy(weights), [[1, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
    )


def test_prompt_and_back():
    preprocessor = make()
    prompt = preprocessor.generate_preprocess(["the cat", "a"])
    np.testing.assert_array_equal(
        ops.convert_to_numpy(prompt["token_ids"]),
        [[THE, CAT, 0, 0, 0], [A, 0, 0, 0, 0]],
    )
    assert list(preprocessor.generate_postprocess(prompt)) == ["the cat", "a"]


def test_special_tokens_are_stripped():
    # Start, delimiter and extract follow the vocabulary of 60.
    ids = np.array([[60, THE, 61, CAT, 62]], "int32")
    given = {"token_ids": ids, "padding_mask": ids >= 0}
    assert list(make().generate_postprocess(given)) == ["the cat"]


def test_round_trip_by_preset(tmp_path):
    preprocessor = make()
    small_models.network(vocabulary_size=60).save_to_preset(str(tmp_path))
    preprocessor.save_to_preset(str(tmp_path))
    read = keras_hub.models.CausalLMPreprocessor.from_preset(str(tmp_path))
    assert type(read) is preprocessors.GPT1CausalLMPreprocessor
    assert read.get_config() == preprocessor.get_config()
    assert read.tokenizer("a cat") == [A, CAT]


def test_keras_hub_preprocessing_program():
    keras_hub_programs.programs().run_preprocessing_layer_test(
        cls=preprocessors.GPT1CausalLMPreprocessor,
        init_kwargs={"tokenizer": make().tokenizer, "sequence_length": 3},
        input_data=["the cat"],
        expected_output=(
            {"token_ids": [[THE, CAT, 0]], "padding_mask": [[1, 1, 0]]},
            [[CAT, 0, 0]],
            [[1, 0, 0]],
        ),
    )
