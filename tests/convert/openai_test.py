import json

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.convert import openai
from tests.reference import numpy_gpt1
from tests.reference import released_shards
from tests.reference import small_models

SIZES = released_shards.SMALL | {"num_heads": 2, "max_sequence_length": 12}
# Twelve shards: one empty, one of a single number, and 10 after 2.
ENDS = [1, 95, 95, 96, 700, 1003, 1204, 1500, 1777, 2019, 2222]


def predict(model, ids):
    return small_models.read(model(small_models.inputs(ids)))


def test_weights_vocabulary_and_configuration(tmp_path):
    arrays = released_shards.write_small(tmp_path, ENDS)
    model = openai.read(tmp_path, num_heads=2)
    found = small_models.released_arrays(model.backbone)
    assert found.keys() == arrays.keys()
    for name, value in arrays.items():
        np.testing.assert_array_equal(found[name], value)
    tokenizer = model.preprocessor.tokenizer
    assert tokenizer.pipeline.sha256 == small_models.byte_pairs().sha256
    assert model.preprocessor.sequence_length == 12
    config = model.backbone.get_config()
    expected = SIZES | {
        **{"num_layers": 2, "hidden_dim": 8, "embedding_dropout": 0.1},
        **{"attention_dropout": 0.1, "residual_dropout": 0.1},
        **{"layer_norm_epsilon": 1e-5, "initializer_range": 0.02},
        "embedding_dropout_on": "tables",
    }
    assert {name: config[name] for name in expected} == expected
    ids = small_models.token_ids(2, 12, below=60)
    hidden = numpy_gpt1.hidden_states(
        arrays, ids, num_positions=12, num_layers=2, num_heads=2
    )
    # Dropout is off outside training.
    logits = hidden @ arrays["we"][:60].T
    np.testing.assert_allclose(predict(model, ids), logits, atol=1e-4)


@pytest.mark.needs_data
def test_forward_equals_the_released_code(tmp_path, shared_file):
    golden = np.load(shared_file("golden/openai_finetune_a.npz"))
    meta = json.loads(str(golden["meta"]))
    prefix = "weight/model/"
    names = [name for name in golden.files if name.startswith(prefix)]
    arrays = {name.removeprefix(prefix): golden[name] for name in names}
    # The rows of special tokens stand for tokens here, so that they are read.
    num_tokens = meta["n_vocab"] + meta["n_special"]
    stored = released_shards.stored_arrays(arrays, num_positions=meta["n_ctx"])
    total = sum(array.size for array in stored)
    ends = [i * total // 10 + i for i in range(1, 10)]
    released_shards.write(
        tmp_path, stored, ends, released_shards.letters(num_tokens)
    )
    model = openai.read(tmp_path, num_heads=meta["n_head"])

    ids = golden["X"][..., 0]
    hidden = predict(model.backbone, ids.reshape(-1, meta["n_ctx"]))
    places = (ids == meta["n_vocab"] + 2).argmax(-1)
    features = numpy_gpt1.extract_features(hidden, places)
    logits = numpy_gpt1.choice_logits(features, arrays)
    np.testing.assert_allclose(logits, golden["clf_logits"], atol=1e-5)
    weights = golden["M"].reshape(hidden.shape[:2])
    losses = numpy_gpt1.language_model_losses(
        hidden, arrays["we"], ids.reshape(weights.shape), weights
    )
    np.testing.assert_allclose(losses, golden["lm_losses"], atol=1e-5)


def remove(name):
    return lambda folder: (folder / name).unlink()


def rewrite(name, change):
    """Replace the bytes of a file."""

    def spoil(folder):
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return spoil


def rewrite_json(name, change):
    return rewrite(name, lambda x: json.dumps(change(json.loads(x))).encode())


SHAPES, SHARD = "params_shapes.json", "params_4.npy"
NAN = np.float32("nan").tobytes()
NOT_NPY = r"params_4\.npy is missing, truncated or not an \.npy"
MISTAKES = {
    "no shapes": (remove(SHAPES), f"{SHAPES} is missing"),
    "no vocabulary": (
        remove(openai.VOCABULARY),
        r"bpe_40000.json cannot be read \(No such file",
    ),
    "no shard 3": (remove("params_3.npy"), r"params_3\.npy is missing"),
    "no last shard": (
        remove("params_11.npy"),
        "11 shards hold 2222 numbers, params_shapes.json lists 2320",
    ),
    "array missing": (rewrite_json(SHAPES, lambda s: s[:-1]), "has 25 shapes"),
    "transposed": (
        rewrite_json(SHAPES, lambda s: [*s[:2], [1, 24, 8], *s[3:]]),
        r"c_attn/w has shape \[24, 8\], expected \[8, 24\]",
    ),
    "truncated": (rewrite(SHARD, lambda x: x[:-3]), NOT_NPY),
    "npz": (rewrite(SHARD, lambda x: b"PK\3\4" + x), NOT_NPY),
    "NaN": (
        rewrite("params_6.npy", lambda x: x[:-4] + NAN),
        "h0/[a-z_/]+ contains NaN or inf",
    ),
    "vocabulary": (
        rewrite_json(openai.VOCABULARY, lambda x: x | {"new": 60}),
        "has 61 tokens, the token table 60 rows",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_one_line(tmp_path, name):
    spoil, expected = MISTAKES[name]
    released_shards.write_small(tmp_path, ENDS)
    spoil(tmp_path)
    with pytest.raises(errors.InputError, match=expected) as raised:
        openai.read(tmp_path, num_heads=2)
    assert "\n" not in str(raised.value)
    assert str(tmp_path) in str(raised.value)
