import keras
import keras_hub
import numpy as np
import pytest
from keras import ops
from scipy import special

from gpt1_keras.models import backbone
from gpt1_keras.models import causal_lm
from gpt1_keras.models import preprocessors
from tests.reference import keras_hub_programs
from tests.reference import small_models

IDS = small_models.token_ids(6, 7, below=23)


@pytest.fixture(scope="module")
def model():
    """One that no test changes."""
    return causal_lm.GPT1CausalLM(small_models.network())


@pytest.mark.parametrize("on", ["tables", "activations"])
def test_softmax_sees_the_dropped_table(on):
    # Without a block, hidden states are the embedding itself.
    network = small_models.network(
        num_layers=0, embedding_dropout=0.5, embedding_dropout_on=on
    )
    model = causal_lm.GPT1CausalLM(network)
    outputs = [network.output, network.table_output, model.output]
    probe = keras.Model(model.input, outputs)
    found = probe(small_models.inputs(IDS), training=True)
    hidden, table, scores = map(small_models.read, found)
    np.testing.assert_allclose(scores, hidden @ table[:23].T, atol=1e-5)
    # The values and draws of the embedding: embedding_test.py.
    assert (0.2 < np.mean(table == 0) < 0.8) == (on == "tables")
    assert {id(w) for w in model.weights} == {id(w) for w in network.weights}


@pytest.mark.parametrize("lengths", [[7], [1] * 7, [4, 1, 1, 1], [3, 1, 3]])
def test_cache_equals_the_whole_text(model, lengths):
    # Columns that were not written yet must not matter.
    cache, index, pieces = ops.full((6, 2, 2, 2, 7, 4), 9.0), 0, []
    for length in lengths:
        ids = IDS[:, index : index + length]
        piece, hidden, cache = model.call_with_cache(ids, cache, index)
        assert tuple(hidden.shape) == (6, length, 8)
        pieces.append(small_models.read(piece))
        index += length
    whole = small_models.run(model, IDS)
    np.testing.assert_allclose(np.concatenate(pieces, axis=1), whole, atol=1e-5)


def test_what_the_network_cannot_read_is_refused(model):
    model.compile(sampler="greedy", optimizer=None, loss=None)
    network = model.backbone
    length = network.max_sequence_length
    rows = network.vocabulary_size + network.num_special_tokens
    for ids, said in (
        (np.zeros((2, length + 1), "int32"), f"has {length} positions"),
        (np.full((1, 3), rows, "int32"), f"token id {rows}, but"),
        (np.full((1, 3), -1, "int32"), "token id -1, but"),
    ):
        with pytest.raises(ValueError, match=said):
            model.generate(small_models.inputs(ids), stop_token_ids=None)
    model._check(np.full((1, length), rows - 1))
    for given in (
        *({"max_length": wrong} for wrong in (0, -1, 2.5, "7")),
        *({"stop_token_ids": wrong} for wrong in ("x", [2.5], [-1])),
    ):
        with pytest.raises(ValueError, match=r"is \S+: give"):
            model.generate(small_models.inputs(IDS), **given)
    with pytest.raises(ValueError, match="token id 26, but"):
        model.score([[1, 26]])
    with pytest.raises(ValueError, match="token id 23, but the model has 23"):
        model.score([[1, 2]], scoring_mode="loss", target_ids=[[2, 23]])
    with pytest.raises(ValueError, match="of shape"):
        model.score([1, 2])


def test_score_hands_over_what_each_layer_returns(model):
    seen = []

    def intercept(activations, index):
        seen.append(index)
        return ops.zeros_like(activations) if index == 1 else activations

    scores = model.score(IDS, layer_intercept_fn=intercept)
    assert seen == [-1, 0, 1]
    # Behind the last block there is only the softmax.
    np.testing.assert_array_equal(small_models.read(scores), 0.0)


def test_generates_text():
    model = small_models.language_model()
    model.compile(sampler="greedy", optimizer=None, loss=None)
    prompts = ["the cat", "a", "the hat", "cat", "a cat sat", "so"]
    texts = model.generate(prompts, max_length=7)
    tokenizer = small_models.byte_pairs()
    rows = [[*tokenizer.encode(prompt)] for prompt in prompts]
    for row in rows:
        # The end of a line ends a text.
        while len(row) < 7 and row[-1] != tokenizer.newline_id:
            logits = small_models.run(model, np.array([[*row, 0]], "int32"))
            row.append(int(logits[0, -2].argmax()))
    assert texts == [tokenizer.decode(row) for row in rows]
    assert max(map(len, rows)) == 7
    assert model.generate([]) == []
    given = {
        "max_length": 7,
        "stop_token_ids": np.array([tokenizer.newline_id]),
    }
    assert model.generate(prompts, **given) == texts
    # Nothing stops a text, nor does the id of padding before it is drawn.
    for ids in ([], [0], [0, 1]):
        texts = model.generate(prompts, max_length=7, stop_token_ids=ids)
        lengths = [len(tokenizer.encode(text)) for text in texts]
        assert lengths == [7] * len(prompts), ids


def test_round_trip_by_preset(tmp_path):
    model = small_models.language_model(embedding_dropout_on="activations")
    model.save_to_preset(str(tmp_path))
    read = keras_hub.models.CausalLM.from_preset(str(tmp_path))
    assert type(read) is causal_lm.GPT1CausalLM
    expected = small_models.run(model, IDS)
    np.testing.assert_array_equal(small_models.run(read, IDS), expected)
    # An uncompiled model becomes one that generates.
    assert read.generate("the cat", max_length=4).startswith("the cat")
    tokenizer = keras_hub.models.Tokenizer.from_preset(str(tmp_path))
    assert type(tokenizer) is preprocessors.GPT1Tokenizer
    assert tokenizer("the cat") == [56, 58]
    network = keras_hub.models.Backbone.from_preset(str(tmp_path))
    assert type(network) is backbone.GPT1Backbone
    assert network.embedding_dropout_on == "activations"
    assert network.get_config() == model.backbone.get_config()


def test_preset_of_a_mixed_policy(tmp_path):
    model = small_models.language_model(dtype="mixed_bfloat16")
    for saved, cls in (
        (model, keras_hub.models.CausalLM),
        (model.backbone, keras_hub.models.Backbone),
    ):
        path = str(tmp_path / cls.__name__)
        saved.save_to_preset(path)
        read = cls.from_preset(path)
        assert read.dtype_policy.name == "float32"
        for old, new in zip(saved.weights, read.weights, strict=True):
            np.testing.assert_array_equal(*map(small_models.read, (old, new)))


@keras_hub_programs.IGNORE_WARNINGS
def test_keras_hub_task_program():
    model = small_models.language_model()
    keras_hub_programs.programs().run_task_test(
        cls=causal_lm.GPT1CausalLM,
        init_kwargs={
            "backbone": model.backbone,
            "preprocessor": model.preprocessor,
        },
        train_data=(["the cat sat.", "a hat."],),
        expected_output_shape=(2, 12, model.backbone.vocabulary_size),
    )


@pytest.fixture
def wide(tmp_path):
    """One for whose numbers the rounding of int8 is small, and its logits."""
    model = small_models.language_model(hidden_dim=32, intermediate_dim=64)
    for weight in model.backbone.trainable_weights:
        if weight.name == "kernel":
            weight.assign(ops.multiply(weight, 0.3))
    expected = small_models.run(model, IDS)
    assert np.std(expected) > 1
    return saved_and_read(model, tmp_path / "float32"), expected


def saved_and_read(model, directory):
    model.save_to_preset(str(directory))
    model = causal_lm.GPT1CausalLM.from_preset(str(directory))
    model.compile(sampler="greedy", optimizer=None, loss=None)
    return model


def test_score_is_logits_or_loss(wide):
    model, expected = wide
    scores = small_models.read(model.score(IDS))
    np.testing.assert_allclose(scores, expected, atol=2e-5)
    nexts = np.roll(IDS, -1, axis=1)
    losses = model.score(IDS, scoring_mode="loss", target_ids=nexts)
    log_p = special.log_softmax(expected, axis=-1)
    chosen = np.take_along_axis(log_p, nexts[..., None], 2)[..., 0]
    np.testing.assert_allclose(small_models.read(losses), -chosen, atol=2e-5)


@pytest.mark.filterwarnings("ignore:.*does not have a `quantize` method")
def test_int8_kernels(wide, tmp_path):
    model, expected = wide
    model.quantize("int8")
    # Four kernels of each of the two blocks.
    assert sum(str(w.dtype) == "int8" for w in model.weights) == 8
    found = small_models.run(model, IDS)
    assert 0 < np.abs(found - expected).max() < 0.05 * np.std(expected)
    again = small_models.run(saved_and_read(model, tmp_path / "int8"), IDS)
    np.testing.assert_allclose(again, found, atol=2e-5)
    assert model.generate("the cat", max_length=8).startswith("the cat ")
