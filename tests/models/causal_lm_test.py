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
from tests.reference import preset_on_backend
from tests.reference import processes
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
    outputs = [network.output, network.table_output]
    outputs += [network.positions_output, model.output]
    probe = keras.Model(model.input, outputs)
    found = probe(small_models.inputs(IDS), training=True)
    hidden, table, positions, scores = map(small_models.read, found)
    np.testing.assert_allclose(scores, hidden @ table[:23].T, atol=1e-5)
    if on == "activations":
        whole = small_models.released_arrays(network)["we"]
        np.testing.assert_allclose(table, whole[: len(table)], atol=1e-6)
        assert small_models.draws(model) == [1]
        return
    assert 0.2 < np.mean(table == 0) < 0.8
    np.testing.assert_allclose(hidden, table[IDS] + positions[:7], atol=1e-6)
    assert small_models.draws(model) == [1, 1]
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
    assert tuple(cache.shape) == (6, 2, 2, 2, 7, 4)
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
    ):
        with pytest.raises(ValueError, match=said):
            model.generate(small_models.inputs(ids), stop_token_ids=None)


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


def on_backend(backend, *arguments):
    program = ("-m", "tests.reference.preset_on_backend")
    done = processes.python(*program, *arguments, KERAS_BACKEND=backend)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def written_by_torch(tmp_path_factory):
    pytest.importorskip("torch")
    if keras.config.backend() != "tensorflow":
        pytest.skip("once is enough")
    preset = tmp_path_factory.mktemp("torch") / "preset"
    on_backend("torch", "write", preset)
    return preset


@pytest.mark.slow
@pytest.mark.backends
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_one_preset_on_every_backend(written_by_torch, tmp_path, backend):
    pytest.importorskip(backend)
    on_backend(backend, "use", written_by_torch, tmp_path / "a.npz")
    found = np.load(tmp_path / "a.npz")
    ours = causal_lm.GPT1CausalLM.from_preset(str(written_by_torch))
    ids = preset_on_backend.ids()
    expected = small_models.run(ours, ids)
    assert np.std(expected) > 1
    for name in ("logits", "score"):
        np.testing.assert_allclose(found[name], expected, atol=2e-5)
    log_p = special.log_softmax(expected, axis=-1)
    nexts = np.roll(ids, -1, axis=1)[..., None]
    chosen = np.take_along_axis(log_p, nexts, 2)[..., 0]
    np.testing.assert_allclose(found["loss"], -chosen, atol=2e-5)
    ours.compile(sampler="greedy", optimizer=None, loss=None)
    assert [*found["text"]] == ours.generate(["the cat", "a"], max_length=8)
    # One matrix of each block, and it matters.
    assert found["num_lora"] == 2
    assert np.abs(found["lora"] - expected).max() > 0.1
    np.testing.assert_allclose(found["merged"], found["lora"], atol=2e-5)
    # Four kernels of each of the two blocks.
    assert found["num_int8"] == 8
    assert 0 < np.abs(found["int8"] - expected).max() < 0.05 * np.std(expected)
    agree = found["int8"].argmax(-1) == expected.argmax(-1)
    assert agree.mean() > 0.9
    np.testing.assert_allclose(found["int8_again"], found["int8"], atol=2e-5)
    assert str(found["int8_text"]).startswith("the cat ")
