import keras
import numpy as np
import pytest

from gpt1_keras.layers import heads
from gpt1_keras.models import builders
from gpt1_keras.models import preprocessors
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer
from gpt1_keras.runs import presets
from tests.reference import keras_hub_programs
from tests.reference import small_models
from tests.reference import tiny_fine_tuned

# Ids of the tokenizer: "the</w>", "cat</w>", and letters that end a word.
PIPELINE = small_models.byte_pairs()
THE, CAT = PIPELINE.encode("the cat")
A, B = PIPELINE.encode("a b")
START, DELIMITER, EXTRACT = (PIPELINE.vocabulary_size + i for i in range(3))


def preprocessor(transform, **changes):
    settings = {"sequence_length": 12, "task": "name"} | changes
    return preprocessors.GPT1TaskPreprocessor(
        tokenizer.GPT1Tokenizer.from_pipeline(PIPELINE),
        transform=transform,
        **settings,
    )


def assert_arrays(found, token_ids, extract_position):
    assert found.keys() == {"token_ids", "extract_position"}
    for name, expected in (
        ("token_ids", token_ids),
        ("extract_position", extract_position),
    ):
        assert isinstance(found[name], np.ndarray)
        assert found[name].dtype == "int32"
        np.testing.assert_array_equal(found[name], expected)


def test_ids_are_those_of_whole_words():
    assert len({THE, CAT, A, B, START, DELIMITER, EXTRACT}) == 7


@pytest.mark.parametrize(
    "texts",
    [
        ["the cat", "a"],
        {"text": ["the cat", "a"]},
        {"text": np.array(["the cat", "a"])},
    ],
)
def test_classification(texts):
    assert_arrays(
        preprocessor("classification")(texts),
        [[[START, THE, CAT, EXTRACT]], [[START, A, EXTRACT, 0]]],
        [[3], [2]],
    )


def test_entailment():
    found = preprocessor("entailment")(
        {
            "text": np.array(["the cat", "a"]),
            "text_pair": np.array(["b", "b"]),
        }
    )
    expected = [
        [[START, THE, CAT, DELIMITER, B, EXTRACT]],
        [[START, A, DELIMITER, B, EXTRACT, 0]],
    ]
    assert_arrays(found, expected, [[5], [4]])


def test_similarity_has_both_orders():
    found = preprocessor("similarity")(
        {"text": ["the cat"], "text_pair": ["b"]}
    )
    expected = [
        [
            [START, THE, CAT, DELIMITER, B, EXTRACT],
            [START, B, DELIMITER, THE, CAT, EXTRACT],
        ]
    ]
    assert_arrays(found, expected, [[5, 5]])


@pytest.mark.parametrize("question", [["a"], None])
def test_multiple_choice(question):
    x = {"text": ["the cat"], "choices": [["b", "a b"]]}
    between = []
    if question:
        x["text_pair"] = question
        between = [A]
    head = [START, THE, CAT, *between, DELIMITER]
    expected = [[[*head, B, EXTRACT, 0], [*head, A, B, EXTRACT]]]
    length = len(head)
    assert_arrays(
        preprocessor("multiple_choice")(x),
        expected,
        [[length + 1, length + 2]],
    )


@pytest.mark.parametrize("text", ["the cat", b"the cat"])
def test_one_string_is_padded_to_be_batched_later(text):
    expected = [START, THE, CAT, EXTRACT] + [0] * 8
    assert_arrays(preprocessor("classification")(text), [expected], [3])


@pytest.mark.parametrize("transform", ["entailment", "multiple_choice"])
def test_in_a_chain_of_tf_data(transform):
    tf = pytest.importorskip("tensorflow")
    layer = preprocessor(transform)
    x = {"text": ["the cat", "a", "b"], "text_pair": ["b", "the", ""]}
    if transform == "multiple_choice":
        x["choices"] = [["b", "a b"], ["cat", "b"], ["a", "a"]]
    labels = np.array([1, 0, 1])
    expected = layer(x)
    chain = tf.data.Dataset.from_tensor_slices((x, labels))
    (found, y), *rest = list(chain.batch(3).map(layer))
    assert not rest
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


def test_long_text_is_cut_to_the_sequence_length():
    found = preprocessor("classification", sequence_length=4)(["a b a b"])
    assert_arrays(found, [[[START, A, B, EXTRACT]]], [[3]])


def test_labels_and_weights_go_through():
    labels, weights = np.array([1, 0]), np.array([0.5, 1.0])
    x, y, sample_weight = preprocessor("classification")(
        ["the cat", "a"], y=labels, sample_weight=weights
    )
    assert x["token_ids"].shape == (2, 1, 4)
    assert y is labels and sample_weight is weights


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="zip()"):
        preprocessor("entailment")({"text": ["a", "b"], "text_pair": ["a"]})


def test_config_round_trip():
    made = preprocessor(
        "similarity",
        sequence_length=10,
        task="stsb",
        label_words=("low", "high"),
        score_range=[0, 5],
    )
    config = made.get_config()
    wanted = {
        "transform": "similarity",
        "sequence_length": 10,
        "task": "stsb",
        "label_words": ["low", "high"],
        "score_range": [0, 5],
    }
    assert {name: config[name] for name in wanted} == wanted
    again = preprocessors.GPT1TaskPreprocessor.from_config(config)
    assert type(again.tokenizer) is tokenizer.GPT1Tokenizer
    assert again.tokenizer.pipeline is None  # It comes with the preset.
    assert {name: again.get_config()[name] for name in wanted} == wanted


# --- In a preset -------------------------------------------------------------

HEADS = {
    "classification": (heads.SumHead, 2, ("bad", "good"), None),
    "similarity": (heads.SumHead, 6, (), [0, 5]),
    "multiple_choice": (heads.ChoiceHead, 1, (), None),
}
RAW = {
    "classification": {"text": ["the cat", "a"]},
    "similarity": {"text": ["the cat", "a"], "text_pair": ["b", "the"]},
    "multiple_choice": {
        "text": ["the cat", "a"],
        "text_pair": ["b", "the"],
        "choices": [["a", "b the"], ["cat", "b"]],
    },
}


def fine_tuned(transform):
    build, num_outputs, words, score_range = HEADS[transform]
    network = small_models.network(vocabulary_size=PIPELINE.vocabulary_size)
    model = task_model.GPT1TaskModel(
        network,
        build(
            num_outputs=num_outputs,
            dropout=0.1,
            initializer_range=0.02,
            name="head",
        ),
        preprocessor=preprocessor(
            transform, label_words=words, score_range=score_range
        ),
    )
    small_models.randomize(model)
    return model


def logits(model, inputs):
    return small_models.read(model(inputs)["logits"])


@pytest.mark.parametrize("transform", HEADS)
def test_preset_round_trip(transform, tmp_path):
    model = fine_tuned(transform)
    directory = str(tmp_path / "preset")
    model.save_to_preset(directory)
    again = task_model.GPT1TaskModel.from_preset(directory)
    ours, theirs = model.preprocessor, again.preprocessor
    assert type(again.head) is type(model.head)
    assert theirs.get_config().keys() == ours.get_config().keys()
    for name in ("transform", "sequence_length", "task", "score_range"):
        assert getattr(theirs, name) == getattr(ours, name)
    assert theirs.label_words == ours.label_words
    # From raw strings, through the tokenizer in the preset.
    inputs = theirs(RAW[transform])
    expected = logits(model, ours(RAW[transform]))
    np.testing.assert_allclose(logits(again, inputs), expected, atol=1e-6)
    assert np.ptp(expected, axis=0).min() > 1e-3  # They depend on the text.
    only = preprocessors.GPT1TaskPreprocessor.from_preset(directory)
    assert only.task == "name"
    assert_arrays(only(RAW[transform]), *inputs.values())


def test_predict_takes_what_the_preprocessor_gives():
    model = fine_tuned("classification")
    inputs = model.preprocessor(["the cat", "a", "b b"])
    found = model.predict(inputs, batch_size=2, verbose=0)["logits"]
    np.testing.assert_allclose(found, logits(model, inputs), atol=1e-6)


# Where batches come from: KerasHub's loaders, none of them, `tf.data`.
WAYS = ["loader", "no loader", "chain"]


@pytest.fixture(params=WAYS)
def as_chain(request, monkeypatch):
    """A function from (strings, labels) to a `tf.data` chain, or None."""
    if request.param == "no loader":
        monkeypatch.setattr(task_model, "_HAS_LOADER", False)
    if request.param != "chain":
        return None
    tf = pytest.importorskip("tensorflow")
    return lambda data, size: tf.data.Dataset.from_tensor_slices(data).batch(
        size
    )


@pytest.mark.parametrize("transform", HEADS)
def test_predict_from_raw_strings(transform, as_chain):
    model = fine_tuned(transform)
    x = RAW[transform]
    expected = logits(model, model.preprocessor(x))
    given = as_chain(x, 2) if as_chain else x
    found = model.predict(given, verbose=0)["logits"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_fit_from_raw_strings(as_chain):
    """A label that is a word of the text is learnt."""
    keras.utils.set_random_seed(0)  # of dropout
    model = fine_tuned("classification")
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 2, 32)
    texts = [
        f"{draws.choice(['a', 'b'])} {['cat', 'the'][label]}"
        for label in labels
    ]
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    given = {"x": texts, "y": labels, "batch_size": 8}
    if as_chain:
        given = {"x": as_chain((texts, labels), 8)}
    history = model.fit(
        **given,
        validation_data=(["b cat", "a the"], np.array([0, 1])),
        epochs=8,
        shuffle=False,
        verbose=0,
    )
    losses = history.history["loss"]
    assert losses[-1] < 0.2 < losses[0]
    assert history.history["accuracy"][-1] == 1.0
    assert history.history["val_accuracy"][-1] == 1.0
    _, accuracy = model.evaluate(
        ["a cat", "b cat"], np.array([0, 1]), verbose=0
    )
    assert accuracy == 0.5
    found = model.predict(["b cat", "a the"], verbose=0)["logits"]
    assert found.argmax(-1).tolist() == [0, 1]


def test_keras_hub_preprocessing_program():
    keras_hub_programs.programs().run_preprocessing_layer_test(
        cls=preprocessors.GPT1TaskPreprocessor,
        init_kwargs={
            "tokenizer": preprocessor("classification").tokenizer,
            "sequence_length": 4,
        },
        input_data=["the cat"],
        expected_output={
            "token_ids": [[[START, THE, CAT, EXTRACT]]],
            "extract_position": [[3]],
        },
    )


@keras.saving.register_keras_serializable(package="task_preprocessor_test")
class Compiled(task_model.GPT1TaskModel):
    """What KerasHub's program expects: compiled as it is made."""

    backbone_cls = None  # No preset is one.

    def __init__(self, *arguments, compile=True, **kwargs):
        super().__init__(*arguments, **kwargs)
        if compile:
            self.compile(
                optimizer="adam",
                loss=keras.losses.SparseCategoricalCrossentropy(
                    from_logits=True
                ),
            )


@pytest.mark.filterwarnings(
    "ignore:.*was not called as part of model loading",
    "ignore:.*shuffle=True. was passed",
)
def test_keras_hub_task_program():
    model = fine_tuned("classification")
    keras_hub_programs.programs().run_task_test(
        cls=Compiled,
        init_kwargs={
            "backbone": model.backbone,
            "head": model.head,
            "preprocessor": model.preprocessor,
        },
        # One batch: its tables do not go through `predict` row by row.
        train_data=(["the cat", "a"], np.array([1, 0]), np.array([0.5, 1.0])),
    )


def language_model():
    network = small_models.network(vocabulary_size=PIPELINE.vocabulary_size)
    return builders.gpt1_causal_lm(network, PIPELINE)


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: fine_tuned("classification"), "GPT1TaskPreprocessor"),
        (language_model, "GPT1CausalLMPreprocessor"),
    ],
)
def test_summary_tells_of_the_preprocessor(make, expected, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # of a terminal, which there is not
    printed = []
    model = make()
    model.summary(
        line_length=200, print_fn=lambda text, **_: printed.append(text)
    )
    text = "\n".join(printed)
    assert f'Preprocessor: "{model.preprocessor.name}"' in text
    assert type(model.preprocessor).__name__ == expected
    assert "GPT1Tokenizer" in text and "Vocab size: 60" in text
    assert "decoder_block_1 (DecoderBlock)" in text
    assert f"Total params: {model.count_params():,}" in text


def test_pretrained_preset_gives_a_model_without_a_head(tmp_path):
    network = small_models.network(vocabulary_size=PIPELINE.vocabulary_size)
    builders.gpt1_causal_lm(network, PIPELINE).save_to_preset(str(tmp_path))
    model = task_model.GPT1TaskModel.from_preset(str(tmp_path))
    assert model.head is None
    inputs = model.preprocessor(["the cat"])
    assert_arrays(inputs, [[[START, THE, CAT, EXTRACT]]], [[3]])


def test_preset_of_a_mixed_policy(tmp_path):
    """What KerasHub cannot read: `presets.save` writes float32."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = fine_tuned("classification")
        inputs = model.preprocessor(RAW["classification"])
        expected = logits(model, inputs)
        presets.save(model, tmp_path / "preset")
    finally:
        keras.config.set_dtype_policy("float32")
    again = task_model.GPT1TaskModel.from_preset(str(tmp_path / "preset"))
    assert again.backbone.dtype_policy.name == "float32"
    np.testing.assert_allclose(logits(again, inputs), expected, atol=0.05)
    for ours, theirs in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(
            tiny_fine_tuned.as_array(theirs.value),
            tiny_fine_tuned.as_array(ours.value),
        )
