import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from gpt1_keras.models import causal_lm
from gpt1_keras.models import causal_lm_preprocessor
from gpt1_keras.models import tokenizer as tokenizer_lib
from tests.reference import keras_hub_programs
from tests.reference import numpy_gpt1
from tests.reference import small_models

IDS = small_models.token_ids(6, 7, below=23)


def make(preprocessor=None, **changes):
    network = small_models.network(**changes)
    return causal_lm.GPT1CausalLM(network, preprocessor, compile=False)


def with_tokenizer():
    pipeline = small_models.byte_pairs()
    preprocessor = causal_lm_preprocessor.GPT1CausalLMPreprocessor(
        tokenizer_lib.GPT1Tokenizer.from_pipeline(pipeline), sequence_length=12
    )
    return make(preprocessor, vocabulary_size=pipeline.vocabulary_size)


def logits(model, ids=IDS):
    return small_models.read(model(small_models.inputs(ids)))


def test_equals_numpy():
    model = make()
    arrays = small_models.released_arrays(model.backbone)
    hidden = numpy_gpt1.hidden_states(
        arrays, IDS, num_positions=12, num_layers=2, num_heads=2
    )
    # The softmax is over words: no special token, no position.
    expected = hidden @ arrays["we"][:23].T
    assert expected.shape == (6, 7, 23)
    np.testing.assert_allclose(logits(model), expected, atol=1e-5)


def test_softmax_sees_the_dropped_table():
    # Without a block, hidden states are the embedding itself.
    model = make(num_layers=0, embedding_dropout=0.5)
    backbone = model.backbone
    probe = keras.Model(
        model.input,
        [
            backbone.output,
            backbone.table_output,
            backbone.positions_output,
            model.output,
        ],
    )
    outputs = probe(small_models.inputs(IDS), training=True)
    hidden, table, positions, scores = map(small_models.read, outputs)
    assert 0.2 < np.mean(table == 0) < 0.8
    np.testing.assert_allclose(hidden, table[IDS] + positions[:7], atol=1e-6)
    np.testing.assert_allclose(scores, hidden @ table[:23].T, atol=1e-5)
    assert small_models.draws(model) == [1, 1]


def test_softmax_of_activation_dropout_sees_the_whole_table():
    model = make(
        num_layers=0, embedding_dropout=0.5, embedding_dropout_on="activations"
    )
    probe = keras.Model(model.input, [model.backbone.output, model.output])
    outputs = probe(small_models.inputs(IDS), training=True)
    hidden, scores = map(small_models.read, outputs)
    table = small_models.released_arrays(model.backbone)["we"]
    np.testing.assert_allclose(scores, hidden @ table[:23].T, atol=1e-5)
    assert small_models.draws(model) == [1]


@pytest.mark.parametrize("lengths", [[7], [1] * 7, [4, 1, 1, 1]])
def test_cache_gives_the_same_as_the_whole(lengths):
    model = make()
    expected, cache, index, pieces = (
        logits(model),
        ops.zeros((6, 2, 2, 7, 2, 4)),
        0,
        [],
    )
    for length in lengths:
        ids = IDS[:, index : index + length]
        piece, hidden, cache = model.call_with_cache(ids, cache, index)
        assert tuple(hidden.shape) == (6, length, 8)
        pieces.append(small_models.read(piece))
        index += length
    assert tuple(cache.shape) == (6, 2, 2, 7, 2, 4)
    np.testing.assert_allclose(
        np.concatenate(pieces, axis=1), expected, atol=1e-5
    )


def test_greedy_generation_is_the_argmax_of_the_whole_at_each_step():
    model = make()
    # Prompts of unequal length.
    starts = [2, 4, 1, 1, 5, 3]
    mask = (np.arange(7) < np.array(starts)[:, None]).astype("int32")
    model.compile(
        sampler="greedy", optimizer=None, loss=None, jit_compile=False
    )
    got = model.generate(
        {"token_ids": IDS * mask, "padding_mask": mask}, stop_token_ids=None
    )
    expected = IDS * mask
    for t in range(1, 7):
        likeliest = logits(model, expected)[:, t - 1].argmax(-1)
        expected[:, t] = np.where(mask[:, t], expected[:, t], likeliest)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(got["token_ids"]), expected
    )
    assert len(np.unique(expected[mask == 0])) > 2


def test_generates_text():
    model = with_tokenizer()
    model.compile(
        sampler="greedy", optimizer=None, loss=None, jit_compile=False
    )
    prompts = ["the cat", "a", "the hat", "cat", "a cat sat", "so"]
    texts = model.generate(prompts, max_length=7)
    rows = model.preprocessor.tokenizer(prompts)
    for t in range(1, 7):
        padded = np.array([row + [0] * (7 - len(row)) for row in rows], "int32")
        likeliest = logits(model, padded)[:, t - 1].argmax(-1)
        for row, token in zip(rows, likeliest):
            if len(row) == t:
                row.append(int(token))
    tokenizer = small_models.byte_pairs()
    # The end of a line ends a text.
    end = tokenizer.newline_id
    rows = [row[: row.index(end) + 1] if end in row else row for row in rows]
    assert texts == [tokenizer.decode(row) for row in rows]
    assert max(map(len, rows)) == 7


def test_lora_and_no_second_set_of_weights():
    model = make()
    assert {id(w) for w in model.weights} == {
        id(w) for w in model.backbone.weights
    }
    model.backbone.enable_lora(2)
    assert sum("lora" in weight.name for weight in model.trainable_weights) == 4


def test_round_trip_by_keras_file(tmp_path):
    model = with_tokenizer()
    # KerasHub makes every model that it reads with its optimizer, and wants
    # the state of that in the file.
    model.compile()
    model.save(tmp_path / "model.keras")
    read = keras.models.load_model(tmp_path / "model.keras", compile=False)
    assert type(read) is causal_lm.GPT1CausalLM
    np.testing.assert_array_equal(logits(read), logits(model))
    assert read.preprocessor.tokenizer(
        "the cat"
    ) == model.preprocessor.tokenizer("the cat")


def test_round_trip_by_preset(tmp_path):
    model = with_tokenizer()
    model.save_to_preset(str(tmp_path))
    read = keras_hub.models.CausalLM.from_preset(str(tmp_path), compile=False)
    assert type(read) is causal_lm.GPT1CausalLM
    np.testing.assert_array_equal(logits(read), logits(model))
    tokenizer = keras_hub.models.Tokenizer.from_preset(str(tmp_path))
    assert type(tokenizer) is tokenizer_lib.GPT1Tokenizer
    assert tokenizer("the cat") == model.preprocessor.tokenizer("the cat")
    backbone = keras_hub.models.Backbone.from_preset(str(tmp_path))
    for ours, theirs in zip(
        backbone.weights, model.backbone.weights, strict=True
    ):
        np.testing.assert_array_equal(
            small_models.read(ours), small_models.read(theirs)
        )


@pytest.mark.filterwarnings(
    "ignore:.*was not called as part of model loading",
    "ignore:.*shuffle=True. was passed",
)
def test_keras_hub_task_program():
    model = with_tokenizer()
    keras_hub_programs.programs().run_task_test(
        cls=causal_lm.GPT1CausalLM,
        init_kwargs={
            "backbone": model.backbone,
            "preprocessor": model.preprocessor,
        },
        train_data=(["the cat sat.", "a hat."],),
        expected_output_shape=(2, 12, model.backbone.vocabulary_size),
    )
