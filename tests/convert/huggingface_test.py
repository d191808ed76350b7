import json

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from gpt1_keras import errors
from gpt1_keras.convert import huggingface
from gpt1_keras.models import builders
from gpt1_keras.models import lstm_backbone
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import huggingface_round_trip
from tests.reference import numpy_gpt1
from tests.reference import small_models

SIZES = {"vocabulary_size": 60, "intermediate_dim": 32, "num_special_tokens": 0}
CONFIG = {
    "model_type": "openai-gpt",
    "afn": "gelu",
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 8,
    "n_positions": 12,
    "vocab_size": 60,
    "attn_pdrop": 0.3,
    "embd_pdrop": 0.2,
    "resid_pdrop": 0.4,
    "layer_norm_epsilon": 1e-5,
}
# Written down from transformers' modeling_openai.py.
NAMES = {
    "attn/c_attn/w": "attn.c_attn.weight",
    "attn/c_attn/b": "attn.c_attn.bias",
    "attn/c_proj/w": "attn.c_proj.weight",
    "attn/c_proj/b": "attn.c_proj.bias",
    "ln_1/g": "ln_1.weight",
    "ln_1/b": "ln_1.bias",
    "mlp/c_fc/w": "mlp.c_fc.weight",
    "mlp/c_fc/b": "mlp.c_fc.bias",
    "mlp/c_proj/w": "mlp.c_proj.weight",
    "mlp/c_proj/b": "mlp.c_proj.bias",
    "ln_2/g": "ln_2.weight",
    "ln_2/b": "ln_2.bias",
}


@pytest.fixture(scope="module")
def arrays():
    return small_models.released_arrays(small_models.network(**SIZES))


@pytest.fixture
def tensors(arrays):
    found = {
        "tokens_embed.weight": arrays["we"][:60],
        "positions_embed.weight": arrays["we"][60:],
    }
    for layer in range(2):
        for ours, theirs in NAMES.items():
            found[f"h.{layer}.{theirs}"] = arrays[f"h{layer}/{ours}"]
    return {
        name: np.ascontiguousarray(x, "float32") for name, x in found.items()
    }


@pytest.fixture
def folder(tmp_path):
    return write_small_files(tmp_path / "model")


def write_small_files(directory, **changes):
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(CONFIG | changes))
    small_models.byte_pairs().save(directory)
    (directory / "vocabulary.json").rename(directory / "vocab.json")
    return directory


def save(folder, tensors):
    safetensors_numpy.save_file(tensors, folder / "model.safetensors")


def check(folder, arrays):
    model = huggingface.read(folder)
    found = small_models.released_arrays(model.backbone)
    assert found.keys() == arrays.keys()
    for name, value in arrays.items():
        np.testing.assert_array_equal(found[name], value)
    tokenizer = model.preprocessor.tokenizer.pipeline
    assert tokenizer.sha256 == small_models.byte_pairs().sha256
    return model


# --- in ----------------------------------------------------------------------


def test_forward_equals_the_plain_one(folder, tensors, arrays):
    save(folder, tensors)
    model = check(folder, arrays)
    ids = small_models.token_ids(2, 12, below=60)
    hidden = numpy_gpt1.hidden_states(
        arrays, ids, num_positions=12, num_layers=2, num_heads=2
    )
    logits = small_models.read(model(small_models.inputs(ids)))
    np.testing.assert_allclose(logits, hidden @ arrays["we"][:60].T, atol=1e-4)
    config = model.backbone.get_config()
    expected = {
        "attention_dropout": 0.3,
        "embedding_dropout": 0.2,
        "residual_dropout": 0.4,
        **SIZES,
    }
    assert {name: config[name] for name in expected} == expected


def old_style(tensors):
    """All that task models of older versions have besides."""
    mask = np.tril(np.ones((1, 1, 12, 12), "float32"))
    buffers = {f"h.{i}.attn.bias": mask for i in range(2)}
    named = {f"transformer.{n}": x for n, x in (tensors | buffers).items()}
    return named | {
        "transformer.position_ids": np.arange(12),
        "lm_head.weight": tensors["tokens_embed.weight"].copy(),
        "score.weight": np.ones((3, 8), "float32"),
        "multiple_choice_head.summary.bias": np.ones(1, "float32"),
    }


def test_prefix_mask_buffers_and_heads(folder, tensors, arrays):
    save(folder, old_style(tensors))
    check(folder, arrays)


def test_token_table_kept_as_the_head(folder, tensors, arrays):
    tensors["lm_head.weight"] = tensors.pop("tokens_embed.weight")
    save(folder, tensors)
    check(folder, arrays)


def write_sharded(folder, tensors):
    names = sorted(tensors)
    index = {}
    for number, part in enumerate((names[:7], names[7:20], names[20:])):
        file = f"model-{number}.safetensors"
        safetensors_numpy.save_file(
            {n: tensors[n] for n in part}, folder / file
        )
        index |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": index})
    )


def test_several_files(folder, tensors, arrays):
    write_sharded(folder, tensors)
    check(folder, arrays)


# --- mistakes ----------------------------------------------------------------

CONFIGS = {
    "GPT-2": ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
    "relu": ({"afn": "relu"}, "afn is 'relu'"),
    "no layers": ({"n_layer": 0}, "n_layer is 0"),
    "no heads": ({"n_head": None}, "n_head is None"),
    "heads": ({"n_head": 3}, "cannot be divided into 3 attention heads"),
    "width": ({"n_embd": 10}, r"has shape \[12, 8\], expected \[12, 10\]"),
    "layer too many": ({"n_layer": 1}, "h.1.attn.c_attn.bias is not expected"),
    "layer too few": ({"n_layer": 3}, "h.2.attn.c_attn.bias is missing"),
    "epsilon": ({"layer_norm_epsilon": "x"}, "layer_norm_epsilon is 'x'"),
    "vocabulary": (
        {"vocab_size": 63},
        "vocab.json has 60 tokens, the token table 63 rows",
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configuration_of_another_network(tmp_path, tensors, name):
    changes, expected = CONFIGS[name]
    folder = write_small_files(tmp_path / "model", **changes)
    save(folder, tensors)
    refuse(folder, expected)


def refuse(folder, expected):
    with pytest.raises(errors.InputError, match=expected) as raised:
        huggingface.read(folder)
    assert "\n" not in str(raised.value)
    assert str(folder) in str(raised.value)


def not_a_number(tensors):
    tensors["h.1.ln_2.bias"][3] = np.inf


def untied(tensors):
    tensors["lm_head.weight"] = tensors["tokens_embed.weight"] + 1e-6


def quantized(tensors):
    tensors["h.0.ln_1.bias"] = tensors["h.0.ln_1.bias"].astype("int8")


# The mask's name is one part shorter than that of the projection's bias.
TENSORS = {
    "infinite": (not_a_number, "h.1.ln_2.bias has NaN or infinite"),
    "untied": (untied, "lm_head.weight differs from tokens_embed.weight"),
    "int8": (quantized, "h.0.ln_1.bias is I8"),
    "missing": (
        lambda t: t.pop("h.0.attn.c_attn.bias"),
        "h.0.attn.c_attn.bias is missing",
    ),
    "mask instead": (
        lambda t: t.update({"h.0.attn.bias": t.pop("h.0.attn.c_attn.bias")}),
        "h.0.attn.c_attn.bias is missing",
    ),
    "unknown": (lambda t: t.update(wte=np.ones(3)), "wte is not expected"),
    "no table": (
        lambda t: t.pop("tokens_embed.weight"),
        "tokens_embed.weight is missing",
    ),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_of_another_network(folder, tensors, name):
    spoil, expected = TENSORS[name]
    spoil(tensors)
    save(folder, tensors)
    refuse(folder, expected)


def test_files_missing_or_damaged(folder, tensors):
    refuse(folder, "has no model.safetensors, model.safetensors.index.json or")
    write_sharded(folder, tensors)
    (folder / "model-1.safetensors").unlink()
    refuse(folder, "model-1.safetensors is missing")
    (folder / "model.safetensors.index.json").write_text("[]")
    refuse(folder, "has no weight_map")
    save(folder, tensors)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    refuse(folder, r"model\.safetensors cannot be read")
    (folder / "vocab.json").unlink()
    refuse(folder, "vocab.json: No such file")
    (folder / "tokenizer.json").write_text('{"model": {"type": "Unigram"}}')
    refuse(folder, "tokenizer.json has no byte-pair vocabulary")
    (folder / "config.json").write_text("{")
    refuse(folder, "config.json is no JSON object")
    (folder / "config.json").unlink()
    refuse(folder, "config.json is missing")


# --- out ---------------------------------------------------------------------


def small_model(**changes):
    network = small_models.network(**(SIZES | changes))
    return builders.gpt1_causal_lm(network, small_models.byte_pairs())


def test_out_and_in_again(tmp_path, arrays):
    huggingface.write(small_model(attention_dropout=0.3), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    model = check(tmp_path / "out", arrays)
    assert model.backbone.attention_dropout == 0.3


def lstm_model():
    network = lstm_backbone.LSTMBackbone(
        vocabulary_size=60,
        num_units=8,
        hidden_dim=8,
        max_sequence_length=12,
        embedding_dropout=0.0,
        residual_dropout=0.0,
        embedding_dropout_on="tables",
        initializer_range=0.02,
    )
    return builders.gpt1_causal_lm(network, small_models.byte_pairs())


def word_piece_model():
    pieces = ["[UNK]", *(f"p{i}" for i in range(59))]
    network = small_models.network(**SIZES)
    return builders.gpt1_causal_lm(network, tokenizer_lib.Tokenizer(pieces))


@pytest.mark.parametrize(
    "make, expected",
    [
        (
            lambda: small_model(intermediate_dim=20),
            "feed-forward networks of 20",
        ),
        (lstm_model, "a LSTMBackbone"),
        (word_piece_model, "a vocabulary of type wordpiece"),
    ],
)
def test_what_transformers_cannot_have(tmp_path, make, expected):
    with pytest.raises(errors.InputError, match=expected):
        huggingface.write(make(), tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def transformers():
    pytest.importorskip("torch")
    library = pytest.importorskip("transformers")
    library.logging.set_verbosity_error()
    library.logging.disable_progress_bar()
    return library


def their_logits(model, ids):
    import torch

    with torch.no_grad():
        return model.eval()(torch.tensor(ids, dtype=torch.long))


@pytest.mark.parametrize("num_special_tokens", [0, 3])
def test_transformers_gives_equal_logits(
    tmp_path, transformers, num_special_tokens
):
    ours = small_model(num_special_tokens=num_special_tokens)
    huggingface.write(ours, tmp_path / "out")
    ids = small_models.token_ids(2, 12, below=60)
    logits = small_models.read(ours(small_models.inputs(ids)))
    hidden = small_models.read(ours.backbone(small_models.inputs(ids)))
    theirs, loading = transformers.OpenAIGPTLMHeadModel.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert not any(
        loading[f"{kind}_keys"]
        for kind in ("missing", "unexpected", "mismatched")
    )
    np.testing.assert_allclose(
        logits, their_logits(theirs, ids).logits, atol=1e-5
    )
    body = transformers.OpenAIGPTModel.from_pretrained(tmp_path / "out")
    np.testing.assert_allclose(
        hidden, their_logits(body, ids).last_hidden_state, atol=1e-5
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "the cat sat."
    assert tokenizer(text)["input_ids"] == small_models.byte_pairs().encode(
        text
    )


@pytest.mark.parametrize(
    "name",
    ["OpenAIGPTModel", "OpenAIGPTLMHeadModel", "OpenAIGPTDoubleHeadsModel"],
)
def test_folder_that_transformers_wrote(folder, transformers, name):
    config = transformers.OpenAIGPTConfig(
        vocab_size=60, n_positions=12, n_embd=8, n_layer=2, n_head=2
    )
    theirs = getattr(transformers, name)(config)
    theirs.save_pretrained(folder)
    ours = huggingface.read(folder)
    ids = small_models.token_ids(2, 12, below=60)
    hidden = small_models.read(ours.backbone(small_models.inputs(ids)))
    body = getattr(theirs, "transformer", theirs)
    np.testing.assert_allclose(
        hidden, their_logits(body, ids).last_hidden_state, atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.backends
def test_there_and_back_at_the_size_of_gpt1(tmp_path, transformers):
    found = huggingface_round_trip.measure(tmp_path)
    assert found["parameters"] == 116_534_784
    assert found["std_of_logits"] > 0.3
    assert found["difference_in_keras"] < 1e-5
    assert found["difference_after_both"] == 0.0
    assert found["unequal_weights"] == []
