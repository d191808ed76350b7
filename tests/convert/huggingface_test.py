import json

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from gpt1_keras import errors
from gpt1_keras.convert import huggingface
from gpt1_keras.layers import heads
from gpt1_keras.models import builders
from gpt1_keras.models import preprocessors
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer as tokenizers
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import huggingface_round_trip
from tests.reference import released_shards
from tests.reference import small_models

SIZES = released_shards.SMALL
CONFIG = {
    **{"model_type": "openai-gpt", "afn": "gelu", "n_layer": 2, "n_head": 2},
    **{"n_embd": 8, "n_positions": 12, "vocab_size": 60, "attn_pdrop": 0.3},
    **{"embd_pdrop": 0.2, "resid_pdrop": 0, "layer_norm_epsilon": 1e-6},
    "initializer_range": 0.01,
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
    """A folder that lacks only the weights."""
    directory = tmp_path / "model"
    directory.mkdir()
    change_config(directory)
    small_models.byte_pairs().save(directory)
    (directory / "vocabulary.json").rename(directory / "vocab.json")
    return directory


def change_config(directory, **changes):
    (directory / "config.json").write_text(json.dumps(CONFIG | changes))


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


def refuse(folder, expected):
    with pytest.raises(errors.InputError, match=expected) as raised:
        huggingface.read(folder)
    assert "\n" not in str(raised.value)
    assert str(folder) in str(raised.value)


def test_config_weights_and_vocabulary(folder, tensors, arrays):
    save(folder, tensors)
    config = check(folder, arrays).backbone.get_config()
    expected = SIZES | {
        **{"num_layers": 2, "num_heads": 2, "hidden_dim": 8},
        **{"max_sequence_length": 12, "embedding_dropout_on": "tables"},
        **{"attention_dropout": 0.3, "embedding_dropout": 0.2},
        **{"residual_dropout": 0, "layer_norm_epsilon": 1e-6},
        "initializer_range": 0.01,
    }
    assert {name: config[name] for name in expected} == expected


def test_defaults_are_those_of_the_released_network(folder, tensors, arrays):
    sizes = {k: v for k, v in CONFIG.items() if k.startswith(("n_", "voc"))}
    (folder / "config.json").write_text(json.dumps(sizes))
    save(folder, tensors)
    config = check(folder, arrays).backbone.get_config()
    rates = [config[name] for name in config if name.endswith("_dropout")]
    assert rates == [0.1] * 3
    assert config["layer_norm_epsilon"] == 1e-5
    assert config["initializer_range"] == 0.02


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


def table_as_head(tensors):
    return {n.replace("tokens_embed", "lm_head"): x for n, x in tensors.items()}


@pytest.mark.parametrize("form", [old_style, table_as_head])
def test_other_forms_of_the_weights(folder, tensors, arrays, form):
    save(folder, form(tensors))
    check(folder, arrays)


def write_whole(directory, **changes):
    """Write `tokenizer.json`."""
    tokenizer = small_models.byte_pairs()
    model = {
        "type": "BPE",
        "end_of_word_suffix": "</w>",
        "vocab": {p: i for i, p in enumerate(tokenizer.vocabulary)},
        "merges": [list(pair) for pair in tokenizer.merges],
    }
    content = json.dumps({"model": model | changes})
    (directory / "tokenizer.json").write_text(content)


def test_one_file_with_vocabulary_and_merges(folder):
    tokenizer = small_models.byte_pairs()
    # The two files come first.
    write_whole(folder, vocab=None)
    found, path = huggingface.read_tokenizer(folder)
    assert found.sha256 == tokenizer.sha256
    assert path == folder / "vocab.json"
    (folder / "vocab.json").unlink()
    for pairs in (tokenizer.merges, [" ".join(p) for p in tokenizer.merges]):
        write_whole(folder, merges=pairs)
        found, path = huggingface.read_tokenizer(folder)
        assert found.sha256 == tokenizer.sha256
        assert path == folder / "tokenizer.json"


def test_other_vocabularies(tmp_path):
    for changes in (
        *({"vocab": [["a", -1.0]]}, {"vocab": {"a": 0, "b": 2}}),
        *({"merges": ["a b c"]}, {"merges": None}),
        {"end_of_word_suffix": None},
    ):
        write_whole(tmp_path, **changes)
        expected = "tokenizer.json has no byte-pair"
        with pytest.raises(errors.InputError, match=expected):
            huggingface.read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
        ({"afn": "relu"}, "afn is 'relu'"),
        ({"n_layer": 0}, "n_layer is 0"),
        ({"n_layer": True}, "n_layer is True"),
        ({"vocab_size": "60"}, "vocab_size is '60'"),
        ({"n_positions": None}, "n_positions is None"),
        ({"embd_pdrop": 1}, "embd_pdrop is 1, expected a number from 0 to 1"),
        ({"resid_pdrop": -0.1}, "resid_pdrop is -0.1"),
        ({"layer_norm_epsilon": "x"}, "layer_norm_epsilon is 'x'"),
        ({"n_head": 3}, "into 3 attention heads: n_head in .*config.json"),
        ({"n_embd": 10}, r"has shape \[12, 8\], expected \[12, 10\]"),
        ({"n_layer": 1}, "h.1.attn.c_attn.bias is not expected"),
        ({"n_layer": 3}, "h.2.attn.c_attn.bias is missing"),
        ({"vocab_size": 63}, "vocab.json has 60 tokens, .* table 63 rows"),
    ],
)
def test_configuration_of_another_network(folder, tensors, changes, expected):
    change_config(folder, **changes)
    save(folder, tensors)
    refuse(folder, expected)


NORM, BIAS, TOKENS = (
    "h.0.ln_1.bias",
    "h.0.attn.c_attn.bias",
    "tokens_embed.weight",
)


@pytest.mark.parametrize(
    "removed, added, expected",
    [
        ((), {"h.1.ln_2.bias": lambda t: t["h.1.ln_2.bias"] * np.inf}, "h1/ln_2/b contains NaN or infinity"),
        ((), {"lm_head.weight": lambda t: t[TOKENS] + 1e-6}, f"lm_head.weight differs from {TOKENS}"),
        ((), {NORM: lambda t: t[NORM].astype("int8")}, f"{NORM} is I8"),
        ((), {"wte": lambda t: np.ones(3)}, "wte is not expected"),
        ((TOKENS,), {}, f"{TOKENS} is missing"),
        ((BIAS,), {}, f"{BIAS} is missing"),
        # The mask's name is one part shorter than that of the bias.
        ((BIAS,), {"h.0.attn.bias": lambda t: t[BIAS]}, f"{BIAS} is missing"),
    ],
)  # fmt: skip
def test_tensors_of_another_network(folder, tensors, removed, added, expected):
    more = {name: make(tensors) for name, make in added.items()}
    kept = {k: v for k, v in tensors.items() if k not in removed}
    save(folder, kept | more)
    refuse(folder, expected)


def test_files_missing_or_damaged(folder):
    refuse(folder, "has no model.safetensors, model.safetensors.index.json or")
    (folder / "vocab.json").unlink()
    refuse(folder, "vocab.json: No such file")
    (folder / "config.json").write_text("{")
    refuse(folder, "config.json is not a JSON object")
    (folder / "config.json").unlink()
    refuse(folder, "config.json is missing")


def small_model(**changes):
    network = small_models.network(**(SIZES | changes))
    return builders.gpt1_causal_lm(network, small_models.byte_pairs())


def test_out_and_in_again(tmp_path, arrays):
    huggingface.write(small_model(attention_dropout=0.3), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    model = check(tmp_path / "out", arrays)
    assert model.backbone.attention_dropout == 0.3


def lstm_model():
    network = small_models.lstm_network(vocabulary_size=60)
    return builders.gpt1_causal_lm(network, small_models.byte_pairs())


def other_words(pieces):
    tokenizer = tokenizer_lib.Tokenizer(
        [*pieces, *(f"p{i}" for i in range(60 - len(pieces)))],
        *([[]] if "</w>" in pieces[-1] else []),
    )
    return builders.gpt1_causal_lm(small_models.network(**SIZES), tokenizer)


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: small_model(intermediate_dim=20), "networks of width 20"),
        (lstm_model, "a LSTMBackbone"),
        (lambda: other_words(["[UNK]"]), "a vocabulary of type wordpiece"),
        (lambda: other_words(["a", "\n</w>"]), "a vocabulary without <unk>"),
    ],
)
def test_what_transformers_does_not_support(tmp_path, make, expected):
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


def theirs_of(model, ids):
    import torch

    with torch.no_grad():
        return model.eval()(torch.tensor(ids, dtype=torch.long))


def test_transformers_gives_equal_logits(tmp_path, transformers):
    ours = small_model(num_special_tokens=3)
    huggingface.write(ours, tmp_path / "out")
    ids = small_models.token_ids(2, 12, below=60)
    logits = small_models.read(ours(small_models.inputs(ids)))
    theirs, loading = transformers.OpenAIGPTLMHeadModel.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    for kind in ("missing", "unexpected", "mismatched"):
        assert not loading[f"{kind}_keys"]
    np.testing.assert_allclose(logits, theirs_of(theirs, ids).logits, atol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "the cat sat."
    expected = small_models.byte_pairs().encode(text)
    assert tokenizer(text)["input_ids"] == expected


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
        hidden, theirs_of(body, ids).last_hidden_state, atol=1e-5
    )


@pytest.mark.parametrize("transform", ["classification", "entailment"])
def test_transformers_classifies_alike(tmp_path, transformers, transform):
    """Batches of any length, and a head with a bias."""
    network = small_models.network(**SIZES | {"num_special_tokens": 3})
    ours = task_model.GPT1TaskModel(
        network,
        heads.SumHead(num_outputs=3, dropout=0.0, initializer_range=0.5),
        preprocessor=preprocessors.GPT1TaskPreprocessor(
            tokenizers.GPT1Tokenizer.from_pipeline(small_models.byte_pairs()),
            transform=transform,
            sequence_length=12,
            label_words=["no", "perhaps", "yes"],
        ),
    )
    small_models.randomize(ours, 0)
    huggingface.write(ours, tmp_path / "out")
    texts = {"text": ["the cat", "a"]}
    if transform == "entailment":
        texts["text_pair"] = ["it", "b"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    inputs = tokenizer(*texts.values(), padding=True, return_tensors="pt")
    theirs = transformers.OpenAIGPTForSequenceClassification.from_pretrained(
        tmp_path / "out"
    )
    logits = theirs.eval()(**inputs).logits.detach().numpy()
    assert np.ptp(logits) > 0.1
    expected = small_models.read(ours(ours.preprocessor(texts))["logits"])
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert theirs.config.id2label[2] == "yes"


def test_a_choice_has_no_counterpart(tmp_path):
    network = small_models.network(**SIZES | {"num_special_tokens": 3})
    model = task_model.GPT1TaskModel(
        network,
        heads.ChoiceHead(dropout=0.0, initializer_range=0.5),
        preprocessor=preprocessors.GPT1TaskPreprocessor(
            tokenizers.GPT1Tokenizer.from_pipeline(small_models.byte_pairs()),
            transform="multiple_choice",
            sequence_length=12,
            task="race",
        ),
    )
    with pytest.raises(errors.InputError, match="race, which is no"):
        huggingface.write(model, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.backends
def test_there_and_back_at_the_size_of_gpt1(tmp_path, transformers):
    found = huggingface_round_trip.measure(tmp_path)
    assert found["parameters"] == 116_534_784
    assert found["std_of_logits"] > 0.3
    assert found["difference_in_keras"] < 1e-5
    assert found["difference_after_both"] == 0.0
    assert found["unequal_weights"] == []
