import numpy as np
import pytest
from keras import ops

from gpt1_keras.models import preprocessors
from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer as text_tokenizer
from tests.reference import keras_hub_programs
from tests.reference import small_models

PIPELINE = small_models.byte_pairs()
THE, CAT = PIPELINE.encode("the cat")
A, B = PIPELINE.encode("a b")
START, DELIMITER, EXTRACT = (PIPELINE.vocabulary_size + i for i in range(3))


def language_model():
    return preprocessors.GPT1CausalLMPreprocessor(
        small_models.tokenizer_layer(), sequence_length=5
    )


def task(transform):
    return preprocessors.GPT1TaskPreprocessor(
        small_models.tokenizer_layer(), transform=transform, sequence_length=12
    )


def test_targets_of_a_language_model_are_the_next_tokens():
    x, y, weights = language_model()(["the cat", "a cat the cat the cat the"])
    for found, expected in (
        (x["token_ids"], [[THE, CAT, 0, 0, 0], [A, CAT, THE, CAT, THE]]),
        (x["padding_mask"], [[1, 1, 0, 0, 0], [1, 1, 1, 1, 1]]),
        (y, [[CAT, 0, 0, 0, 0], [CAT, THE, CAT, THE, CAT]]),
        (weights, [[1, 0, 0, 0, 0], [1, 1, 1, 1, 1]]),
    ):
        np.testing.assert_array_equal(ops.convert_to_numpy(found), expected)


def test_prompt_and_back_without_special_tokens():
    preprocessor = language_model()
    prompt = preprocessor.generate_preprocess(["the cat", "a"])
    np.testing.assert_array_equal(
        ops.convert_to_numpy(prompt["token_ids"]),
        [[THE, CAT, 0, 0, 0], [A, 0, 0, 0, 0]],
    )
    assert list(preprocessor.generate_postprocess(prompt)) == ["the cat", "a"]
    ids = np.array([[START, THE, DELIMITER, CAT, EXTRACT]], "int32")
    given = {"token_ids": ids, "padding_mask": ids >= 0}
    assert list(preprocessor.generate_postprocess(given)) == ["the cat"]
    # Padding is no line break, which ends a text.
    pipeline = text_tokenizer.Tokenizer(["\n</w>", "a</w>"], [])
    assert preprocessors.GPT1Tokenizer.from_pipeline(pipeline).pad_token_id == 1
    # Without a context, what precedes a text.
    opening = PIPELINE.opening_id
    for text in ("", ["a", " "]):
        prompt = preprocessor.generate_preprocess(text)
        arrays = map(ops.convert_to_numpy, prompt.values())
        ids, mask = (array.reshape(-1, 5) for array in arrays)
        assert ids[-1].tolist() == [opening, 0, 0, 0, 0]
        assert mask.sum(axis=1).tolist() == [1] * len(mask)


def test_columns_that_a_task_needs():
    for transform, given in (
        ("entailment", {"text": ["a"], "pair": ["b"]}),
        ("multiple_choice", {"text": ["a"]}),
    ):
        with pytest.raises(ValueError, match=f"{transform} takes"):
            task(transform)(given)
    with pytest.raises(TypeError, match="dict is no text"):
        task("classification")({"text": {"text": ["a"]}})


def assert_arrays(found, *expected):
    """`token_ids` and `extract_position`, numpy arrays of int32."""
    assert list(found) == ["token_ids", "extract_position"]
    for array, values in zip(found.values(), expected, strict=True):
        assert isinstance(array, np.ndarray) and array.dtype == "int32"
        np.testing.assert_array_equal(array, values)


TWO = [[[START, THE, CAT, EXTRACT]], [[START, A, EXTRACT, 0]]], [[3], [2]]
CUT = [[[START, *[THE, CAT] * 5, EXTRACT]]], [[11]]
ONE = [[START, THE, CAT, EXTRACT, *[0] * 8]], [3]
FIRST = [START, THE, CAT, DELIMITER, B, EXTRACT]
SECOND = [START, B, DELIMITER, THE, CAT, EXTRACT]
CHOICES = [["b", "a b"]]
BOTH = [[[*FIRST, 0], [*FIRST[:4], A, B, EXTRACT]]], [[5, 6]]


@pytest.mark.parametrize(
    "transform, x, expected",
    [
        ("classification", ["the cat", "a"], TWO),
        ("classification", {"text": np.array(["the cat " * 9])}, CUT),
        # A single string is padded, to be batched later.
        ("classification", "the cat", ONE),
        (
            "entailment",
            {"text": ["the cat", "a"], "text_pair": np.array(["b", "b"])},
            ([[FIRST], [[START, A, DELIMITER, B, EXTRACT, 0]]], [[5], [4]]),
        ),
        (
            "similarity",
            {"text": ["the cat"], "text_pair": ["b"]},
            ([[FIRST, SECOND]], [[5, 5]]),
        ),
        ("multiple_choice", {"text": ["the cat"], "choices": CHOICES}, BOTH),
        (
            "multiple_choice",
            {"text": ["the"], "text_pair": ["cat"], "choices": CHOICES},
            BOTH,
        ),
    ],
)
def test_inputs_of_a_task(transform, x, expected):
    assert_arrays(task(transform)(x), *expected)


@pytest.mark.parametrize("transform", ["entailment", "multiple_choice"])
def test_in_a_chain_of_tf_data(transform):
    tf = pytest.importorskip("tensorflow")
    layer = task(transform)
    x = {"text": ["the cat", "a", "b"], "text_pair": ["b", "the", ""]}
    if transform == "multiple_choice":
        x["choices"] = [["b", "a b"], ["cat", "b"], ["a", "a", "b"]]
        with pytest.raises(ValueError, match="same number of choices"):
            layer(x)
        x["choices"] = [["b", "a b"], ["cat", "b"], ["a", "a"]]
    labels = np.array([1, 0, 1])
    expected = layer(x)
    chain = tf.data.Dataset.from_tensor_slices((x, labels))
    ((found, y),) = list(chain.batch(3).map(layer))
    np.testing.assert_array_equal(y, labels)
    assert_arrays({k: v.numpy() for k, v in found.items()}, *expected.values())
    # One at a time, and batched afterwards.
    ((found, _),) = list(chain.map(layer).batch(3))
    length = expected["token_ids"].shape[-1]
    token_ids = found["token_ids"].numpy()
    assert token_ids.shape[-1] == 12 and not token_ids[..., length:].any()
    assert_arrays(
        {
            "token_ids": token_ids[..., :length],
            "extract_position": found["extract_position"].numpy(),
        },
        *expected.values(),
    )
    # Tensors outside a chain.
    eager = {name: tf.constant(column) for name, column in x.items()}
    assert_arrays(layer(eager), *expected.values())
    # Ids of rows of different lengths, and back.
    (ids,) = chain.batch(3).map(lambda x, _: layer.tokenizer(x["text"]))
    assert layer.tokenizer.detokenize(ids) == ["the cat", "a", "b"]


TEXT = "The cat sat.\nA hat."
# Letters are 1-26, then the full stop, then both again at the end of a word.
IDS = [56, 58, 19, 1, 47, 54, 59, 28, 8, 1, 47, 54]


def word_pieces():
    pieces = ["[UNK]", subwords.WordPiece.newline, "the", "cat", "s", "##at"]
    return text_tokenizer.Tokenizer([*pieces, "a", "hat", "."])


def test_ids_of_one_string_and_many():
    tokenizer = small_models.tokenizer_layer()
    for text in (TEXT, TEXT.encode()):
        assert tokenizer(text) == tokenizer.tokenize(text) == IDS
    for texts in ([TEXT, "a"], np.array([TEXT, "a"])):
        assert tokenizer(texts) == tokenizer.tokenize(texts) == [IDS, [28]]


@pytest.mark.parametrize("pipeline", [small_models.byte_pairs, word_pieces])
def test_assets_and_config_restore_it(tmp_path, pipeline):
    tokenizer = preprocessors.GPT1Tokenizer.from_pipeline(pipeline())
    tokenizer.save_assets(tmp_path)
    paths = sorted(tmp_path.iterdir(), reverse=True)
    assert preprocessors.GPT1Tokenizer(*paths).type == tokenizer.type
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
