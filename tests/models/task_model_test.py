import inspect

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops
from keras_hub.src.utils import pipeline_model
from scipy import special

from gpt1_keras.layers import heads
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.training import losses
from tests.reference import keras_hub_programs
from tests.reference import numpy_gpt1
from tests.reference import small_models

B, T = 3, 7
RAW = {
    "classification": {"text": ["the cat", "a"]},
    "similarity": {"text": ["the cat", "a"], "text_pair": ["b", "the"]},
    "multiple_choice": {
        "text": ["the cat", "a"],
        "text_pair": ["b", "the"],
        "choices": [["a", "b the"], ["cat", "b"]],
    },
}
# Transform -> head, number of outputs, class names, range of scores.
TASKS = {
    "classification": (heads.SumHead, 2, ["bad", "good"], None),
    "similarity": (heads.SumHead, 6, [], [0, 5]),
    "multiple_choice": (heads.ChoiceHead, 1, [], None),
}


def fine_tuned(transform, build=small_models.network):
    cls, num_outputs, words, score_range = TASKS[transform]
    head = cls(num_outputs=num_outputs, dropout=0.1, initializer_range=0.02)
    settings = {"label_words": words, "score_range": score_range}
    return small_models.task_model(
        head, transform, build, task="name", **settings
    )


def batch(C):
    positions = np.array([[6, 2], [3, 3], [0, 5]], "int32")
    weights = np.random.default_rng(4).integers(0, 2, (B, C, T))
    weights[..., 0], weights[..., 3] = 0, 1
    return {
        "token_ids": small_models.token_ids(B, C, T),
        "token_weights": weights.astype("float32"),
        "extract_position": positions[:, :C],
        "labels": np.array([1, 0, 1], "int32"),
    }


def logits(model, inputs):
    return small_models.read(model(inputs)["logits"])


@pytest.mark.parametrize(
    "cls, num_outputs, C",
    [(heads.SumHead, 3, 1), (heads.SumHead, 3, 2), (heads.ChoiceHead, 1, 2)],
)
def test_network_and_losses_equal_numpy(cls, num_outputs, C):
    head = cls(num_outputs=num_outputs, dropout=0.0, initializer_range=0.02)
    model = task_model.GPT1TaskModel(small_models.network(), head)
    small_models.randomize(model)
    given = batch(C)
    arrays = small_models.released_arrays(model.backbone, model.head)
    ids = given["token_ids"].reshape(-1, T)
    hidden = numpy_gpt1.hidden_states(arrays, ids)
    places = given["extract_position"].reshape(-1)
    features = hidden[np.arange(B * C), places].reshape(B, C, -1)
    if cls is heads.SumHead:
        features = features.sum(axis=1)
    expected = features @ arrays["clf/w"] + arrays["clf/b"]
    if cls is heads.ChoiceHead:
        expected = expected[..., 0]
    found = model({key: given[key] for key in model.input})
    for name, value in (
        ("hidden", hidden),
        ("table", arrays["we"][:26]),
        ("positions", arrays["we"][26:]),
        ("logits", expected),
    ):
        small_models.assert_close(found[name], value)

    weights = given["token_weights"].reshape(-1, T)
    log_p = special.log_softmax(expected, axis=-1)
    task = -log_p[np.arange(B), given["labels"]].mean()
    tensors = {k: ops.convert_to_tensor(v) for k, v in given.items()}
    for softmax_over, rows in (("tokens", 26), ("released", 38)):
        lm = numpy_gpt1.language_model_losses(
            hidden, arrays["we"][:rows], ids, weights
        ).mean()
        loss = losses.TaskLoss(
            task_loss=losses.cross_entropy,
            language_model_loss=losses.LanguageModelLoss(
                chunk_size=64, softmax_over=softmax_over
            ),
            lm_weight=0.5,
        )
        got = {
            name: float(small_models.read(value))
            for name, value in loss(found, tensors).items()
        }
        assert got == pytest.approx(
            {"loss": task + 0.5 * lm, "task_loss": task, "lm_loss": lm},
            abs=1e-5,
        )


@pytest.mark.parametrize(
    "transform, build",
    [
        *((transform, small_models.network) for transform in TASKS),
        ("classification", small_models.lstm_network),
    ],
)
def test_preset_answers_raw_strings(transform, build, tmp_path):
    model = fine_tuned(transform, build)
    model.save_to_preset(str(tmp_path))
    again = task_model.GPT1TaskModel.from_preset(str(tmp_path))
    if build is small_models.network:
        found = keras_hub.models.TextClassifier.from_preset(str(tmp_path))
        assert type(found) is type(again)
        with pytest.raises(ValueError, match="cannot be changed"):
            type(found).from_preset(str(tmp_path), num_classes=3)
        with pytest.raises(TypeError, match="argument 'activation'"):
            type(found).from_preset(str(tmp_path), activation="softmax")
    ours, theirs = model.preprocessor, again.preprocessor
    assert type(again.head) is type(model.head)
    for name in ours.config_names():
        assert getattr(theirs, name) == getattr(ours, name)
    expected = logits(model, ours(RAW[transform]))
    assert np.ptp(expected, axis=0).min() > 1e-3  # They depend on the text.
    np.testing.assert_array_equal(
        logits(again, theirs(RAW[transform])), expected
    )
    predicted = again.predict(RAW[transform], verbose=0)
    np.testing.assert_allclose(predicted, expected, atol=1e-5)
    cls = keras_hub.models.TextClassifierPreprocessor
    cls = cls if build is small_models.network else type(ours)
    alone, raw = cls.from_preset(str(tmp_path)), RAW[transform]
    more = raw | {"idx": np.arange(2)} if isinstance(raw, dict) else raw
    for name, value in alone(more).items():
        np.testing.assert_array_equal(value, ours(raw)[name])


def test_classes_for_a_pretrained_preset(tmp_path):
    model = small_models.language_model()
    model.save_to_preset(str(tmp_path))
    found = keras_hub.models.TextClassifier.from_preset(
        str(tmp_path), num_classes=3, dtype="mixed_bfloat16"
    )
    assert found.backbone.dtype_policy.name == "mixed_bfloat16"
    assert found.predict(["the cat", "a cat"], verbose=0).shape == (2, 3)
    ours = found.preprocessor
    assert (ours.task, ours.sequence_length) == ("custom", 12)
    assert ours.label_words == ["0", "1", "2"]
    # One preprocessor may serve several models, each with its own classes.
    two = task_model.GPT1TaskModel(
        model.backbone, preprocessor=ours, num_classes=2
    )
    assert two.preprocessor.label_words == ["0", "1"]
    assert two.predict(["the cat", "a cat"], verbose=0).shape == (2, 2)
    assert found.preprocessor.label_words == ["0", "1", "2"]
    for ours, theirs in zip(
        model.backbone.decoder_blocks, found.backbone.decoder_blocks
    ):
        np.testing.assert_equal(ours.get_weights(), theirs.get_weights())


def test_a_frozen_head_is_saved_as_such(tmp_path):
    model = fine_tuned("classification")
    model.head.trainable = False
    model.save(tmp_path / "model.keras")
    read = keras.saving.load_model(tmp_path / "model.keras")
    expected = [variable.path for variable in model.trainable_variables]
    assert [v.path for v in read.trainable_variables] == expected
    assert not any("head" in path for path in expected)


@pytest.mark.parametrize("name", ["fit", "evaluate", "predict"])
def test_arguments_are_those_of_keras_hub_in_its_order(name):
    ours, theirs = (
        list(inspect.signature(getattr(cls, name)).parameters)
        for cls in (task_model.GPT1TaskModel, pipeline_model.PipelineModel)
    )
    assert ours[:-1] == theirs[:-1]  # The last are further options.


# Where batches come from: KerasHub's loaders, or `tf.data`.
@pytest.mark.filterwarnings("ignore:.*does not have a `quantize` method")
@pytest.mark.parametrize("from_chain", [False, True])
def test_fit_evaluate_and_predict_from_raw_strings(from_chain, tmp_path):
    """A label that is a word of the text is learnt; batches shrink."""
    if from_chain and keras.config.backend() != "tensorflow":
        pytest.skip("once is enough")
    keras.utils.set_random_seed(0)  # of dropout
    model = fine_tuned("classification")
    draws = np.random.default_rng(0)
    labels = draws.integers(0, 2, 32)
    texts = [
        f"{draws.choice(['a', 'b'])} {['cat', 'the'][label]}"
        for label in labels
    ]
    texts[24:] = [text[2:] for text in texts[24:]]
    model.compile(keras.optimizers.Adam(0.01), metrics=["accuracy"])
    given = {"x": texts, "y": labels, "batch_size": 8}
    if from_chain:
        import tensorflow as tf

        of_slices = tf.data.Dataset.from_tensor_slices
        given = {"x": of_slices((texts, labels)).batch(8)}
    history = model.fit(
        **given,
        validation_data=(["b cat", "a the"], np.array([0, 1]), np.zeros(2)),
        epochs=8,
        shuffle=False,
        verbose=0,
    ).history
    assert history["loss"][-1] < 0.2 < history["loss"][0]
    assert history["accuracy"][-1] == history["val_accuracy"][-1] == 1.0
    assert history["val_loss"][-1] == 0  # of rows without weight
    texts = ["b cat", "a the", "the"]
    given = {"x": texts, "batch_size": 1}
    if from_chain:
        given = {"x": of_slices(texts).batch(2)}
    found = model.predict(**given, verbose=0)
    expected = logits(model, model.preprocessor(texts))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[:2].argmax(-1).tolist() == [0, 1]
    if from_chain:
        return
    model.save(tmp_path / "trained.keras")
    again = keras.models.load_model(tmp_path / "trained.keras")
    given = {"sample_weight": np.zeros(3), "batch_size": 1, "verbose": 0}
    loss, accuracy = again.evaluate(
        ["a cat", "b cat", "cat"], np.array([0, 1, 1]), **given
    )
    assert loss == 0 and accuracy == pytest.approx(1 / 3)
    # Arrays that the preprocessor made are taken as they are.
    inputs = model.preprocessor(texts)
    found = model.predict(inputs, batch_size=2, verbose=0)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    # Of the batches, only the first two are equally long.
    given = {"batch_size": 1, "validation_split": 0.25, "shuffle": False}
    given |= {"sample_weight": np.zeros(4), "verbose": 0}
    mixed = np.array(["cat", "a", "b cat", "a the"])
    history = model.fit(mixed, np.array([0, 1, 0, 1]), **given).history
    assert history["loss"] == history["val_loss"] == [0.0]
    with pytest.raises(ValueError, match="x is empty"):
        model.predict([])
    column = type("Column", (list,), {})(mixed)  # no array, as in pandas
    assert len(model.predict(column, batch_size=1, verbose=0)) == 4
    expected = model.predict(texts, verbose=0)
    model.quantize("int8")
    found = model.predict(texts, verbose=0)
    assert 0 < np.abs(found - expected).max() < 0.2 * np.ptp(expected)
    model.save_to_preset(str(tmp_path / "int8"))
    again = type(model).from_preset(str(tmp_path / "int8"))
    np.testing.assert_allclose(
        again.predict(texts, verbose=0), found, atol=1e-5
    )


@keras.saving.register_keras_serializable(package="task_model_test")
class Compiled(task_model.GPT1TaskModel):
    """Compiled on construction, as KerasHub's program expects."""

    backbone_cls = None  # No preset is one.

    def __init__(self, *arguments, compile=True, **kwargs):
        super().__init__(*arguments, compile=compile, **kwargs)


@keras_hub_programs.IGNORE_WARNINGS
def test_keras_hub_task_program():
    model = fine_tuned("classification")
    keras_hub_programs.programs().run_task_test(
        cls=Compiled,
        init_kwargs={
            "backbone": model.backbone,
            "head": model.head,
            "preprocessor": model.preprocessor,
        },
        train_data=(["the cat", "a"], np.array([1, 0]), np.array([0.5, 1.0])),
        expected_output_shape=(2, 2),
    )


def test_what_cannot_be_learned_is_refused():
    network = small_models.network(num_special_tokens=0)
    with pytest.raises(ValueError, match="give num_classes, or"):
        fine_tuned("classification", lambda **sizes: network)
    model = fine_tuned("similarity")
    with pytest.raises(ValueError, match="no automatic loss"):
        model.compile()
    model.preprocessor.is_regression = True
    model.compile()
    assert model.loss == "mean_squared_error"


def test_preset_of_a_mixed_policy(tmp_path, set_dtype):
    """KerasHub cannot read it: `presets.save` writes float32."""
    set_dtype("mixed_bfloat16")
    model = fine_tuned("classification")
    inputs = model.preprocessor(RAW["classification"])
    expected = logits(model, inputs)
    presets.save(model, tmp_path / "preset")
    set_dtype("float32")
    again = task_model.GPT1TaskModel.from_preset(str(tmp_path / "preset"))
    assert again.backbone.dtype_policy.name == "float32"
    np.testing.assert_allclose(logits(again, inputs), expected, atol=0.05)
    weights = (map(small_models.read, x.weights) for x in (again, model))
    np.testing.assert_equal(*map(list, weights))
