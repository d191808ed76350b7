import functools
import json
import pickle

import ml_dtypes
import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from gpt1_keras import errors
from gpt1_keras.convert import huggingface
from gpt1_keras.layers import heads
from tests.reference import released_shards
from tests.reference import small_models

SIZES = released_shards.SMALL
CONFIG = {
    **{"model_type": "openai-gpt", "afn": "gelu", "n_layer": 2, "n_head": 2},
    **{"n_embd": 8, "n_positions": 12, "vocab_size": 60, "attn_pdrop": 0.3},
    **{"embd_pdrop": 0.2, "resid_pdrop": 0, "layer_norm_epsilon": 1e-6},
    "initializer_range": 0.01,
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
    # As in transformers' modeling_openai.py.
    kinds = {"w": "weight", "g": "weight", "b": "bias"}
    for name in small_models.BLOCK_NAMES:
        *parts, kind = name.split("/")
        theirs = ".".join([*parts, kinds[kind]])
        for layer in range(2):
            found[f"h.{layer}.{theirs}"] = arrays[f"h{layer}/{name}"]
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
    np.testing.assert_equal(found, arrays)
    tokenizer = model.preprocessor.tokenizer.pipeline
    assert tokenizer.sha256 == small_models.byte_pairs().sha256
    return model


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


@pytest.mark.parametrize("form", [dict, old_style, table_as_head])
def test_config_weights_and_vocabulary(folder, tensors, arrays, form):
    save(folder, form(tensors))
    config = check(folder, arrays).backbone.get_config()
    expected = small_models.SIZES | SIZES
    expected |= {"attention_dropout": 0.3, "embedding_dropout": 0.2}
    expected |= {"layer_norm_epsilon": 1e-6, "initializer_range": 0.01}
    assert expected.items() <= config.items()


TOKENS, BIAS = "tokens_embed.weight", "h.1.ln_2.bias"


@pytest.mark.parametrize(
    "config, change, expected",
    [
        ({"model_type": "gpt2"}, dict, "model_type is 'gpt2'"),
        ({"afn": "relu"}, dict, "afn is 'relu'"),
        ({"n_layer": 0}, dict, "n_layer` is 0: give a whole number of at"),
        ({"attn_pdrop": 1}, dict, "attn_pdrop` is 1: give a number of at"),
        ({"n_head": 3}, dict, "into 3 attention heads: correct n_head in conf"),
        ({"n_embd": 10}, dict, r"has shape \[12, 8\], expected \[12, 10\]"),
        ({"n_layer": 10**12}, dict, "n_layer is 10000.*, but there are"),
        ({"n_positions": 2**40}, dict, "n_positions is 1099.*: correct it"),
        ({"n_layer": 3}, dict, "h.2.attn.c_attn.bias is missing"),
        ({"vocab_size": 63}, dict, "vocabulary has 60 tokens, .* 63 rows"),
        ({}, lambda t: t | {BIAS: t[BIAS] * np.inf}, "h1/ln_2/b contains NaN"),
        ({}, lambda t: t | {"lm_head.weight": t[TOKENS] + 1e-6}, "differs"),
        ({}, lambda t: {n: t[n] for n in {*t} - {TOKENS}}, f"{TOKENS} is m"),
        ({}, lambda t: t | {BIAS: t[BIAS].astype("int8")}, f"{BIAS} is int8"),
    ],
)
def test_files_of_another_network(folder, tensors, config, change, expected):
    change_config(folder, **config)
    save(folder, change(tensors))
    with pytest.raises(errors.InputError, match=f"{folder}.*{expected}"):
        huggingface.read(folder)


def small_model(**changes):
    return small_models.language_model(**SIZES | changes)


def test_out_and_in_again(tmp_path, arrays):
    huggingface.write(small_model(attention_dropout=0.3), tmp_path / "out")
    with pytest.raises(OSError, match="not empty"):
        huggingface.write(small_model(), tmp_path / "out")
    model = check(tmp_path / "out", arrays)
    assert model.backbone.attention_dropout == 0.3


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
    theirs, loading = transformers.OpenAIGPTLMHeadModel.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    for kind in ("missing", "unexpected", "mismatched"):
        assert not loading[f"{kind}_keys"]
    logits = ours(small_models.inputs(ids))
    small_models.assert_close(logits, theirs_of(theirs, ids).logits)
    theirs.save_pretrained(tmp_path / "parts", max_shard_size="1KB")
    with pytest.raises(errors.InputError, match="in several files: save them"):
        huggingface.read_tensors(tmp_path / "parts")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    text = "the <unk> cat sat."
    expected = small_models.byte_pairs().encode(text)
    assert tokenizer(text)["input_ids"] == expected
    padded = tokenizer(["the cat", text], padding=True)["attention_mask"]
    assert padded == [[1] * 2 + [0] * (len(expected) - 2), [1] * len(expected)]


def test_folder_that_transformers_wrote(folder, transformers):
    config = transformers.OpenAIGPTConfig(
        vocab_size=60, n_positions=12, n_embd=8, n_layer=2, n_head=2
    )
    theirs = transformers.OpenAIGPTDoubleHeadsModel(config)
    theirs.save_pretrained(folder)
    ours = huggingface.read(folder)
    ids = small_models.token_ids(2, 12, below=60)
    hidden = ours.backbone(small_models.inputs(ids))
    expected = theirs_of(theirs.transformer, ids).last_hidden_state
    small_models.assert_close(hidden, expected)


@pytest.mark.parametrize("transform", ["classification", "entailment"])
def test_transformers_classifies_alike(tmp_path, transformers, transform):
    """Batches of any length, and a head with a bias."""
    ours = small_models.task_model(
        heads.SumHead(num_outputs=3, dropout=0.0, initializer_range=0.5),
        transform,
        functools.partial(small_models.network, intermediate_dim=32),
        label_words=["no", "perhaps", "yes"],
    )
    huggingface.write(ours, tmp_path / "out")
    texts = {"text": ["the cat", "a"], "text_pair": ["it", "b"]}
    if transform == "classification":
        del texts["text_pair"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    inputs = tokenizer(*texts.values(), padding=True, return_tensors="pt")
    theirs = transformers.OpenAIGPTForSequenceClassification.from_pretrained(
        tmp_path / "out"
    )
    logits = theirs.eval()(**inputs).logits.detach().numpy()
    assert np.ptp(logits) > 0.1
    if transform == "classification":  # also a text that is too long
        pipeline = transformers.pipeline(
            "text-classification", str(tmp_path / "out"), truncation=True
        )
        given = ["the cat " * 20, "a"]
        expected = ours.predict(given, verbose=0).argmax(-1)
        names = ["no", "perhaps", "yes"]
        found = [names.index(x["label"]) for x in pipeline(given)]
        assert found == expected.tolist()
    found = ours(ours.preprocessor(texts))["logits"]
    small_models.assert_close(found, logits)
    assert theirs.config.id2label[2] == "yes"


# Values of few digits, so that no dtype rounds them.
VALUES = {
    "a": np.array([[1.5, -2.0], [0.25, 3.0]], "float32"),
    "b": np.array([7.0], "float32"),
}


def check_tensors(folder):
    found = huggingface.read_tensors(folder)
    arrays = {name: x.astype("float32") for name, x in found.items()}
    np.testing.assert_equal(arrays, VALUES)


def refuse_tensors(folder, expected):
    with pytest.raises(errors.InputError, match=f"{folder}.*{expected}"):
        huggingface.read_tensors(folder)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", ml_dtypes.bfloat16]
)
def test_one_file_comes_first(tmp_path, dtype):
    safetensors_numpy.save_file(
        {name: value.astype(dtype) for name, value in VALUES.items()},
        tmp_path / "model.safetensors",
    )
    (tmp_path / "pytorch_model.bin").write_bytes(b"not read")
    check_tensors(tmp_path)


@pytest.mark.parametrize("zipped", [True, False])
def test_pickle_of_torch(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    state = {name: torch.tensor(x) for name, x in VALUES.items()}
    state["b"] = state["b"].bfloat16()
    path = tmp_path / "pytorch_model.bin"
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
    check_tensors(tmp_path)


class Harmful:
    def __reduce__(self):
        return (open, ("made_by_the_pickle", "w"))


def test_pickle_runs_nothing_and_is_a_dict_of_tensors(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harmful()}))
    refuse_tensors(tmp_path, "pytorch_model.bin cannot be read as a dict of te")
    assert not (tmp_path / "made_by_the_pickle").exists()
    torch.save({"a": 3}, tmp_path / "pytorch_model.bin")
    refuse_tensors(tmp_path, "cannot be read as a dict of tensors")
