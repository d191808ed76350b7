import json
import re

import pytest

from gpt1_keras import errors
from gpt1_keras.convert import huggingface
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import small_models

CONFIG = {
    "vocab_size": 60,
    "n_layer": 2,
    "n_head": 4,
    "n_embd": 8,
    "n_positions": 12,
}
SIZES = {
    "vocabulary_size": 60,
    "num_layers": 2,
    "num_heads": 4,
    "hidden_dim": 8,
    "max_sequence_length": 12,
}


def write_config(directory, **values):
    path = directory / "config.json"
    path.write_text(json.dumps(CONFIG | values))
    return path


def vocabulary():
    return {p: i for i, p in enumerate(small_models.byte_pairs().vocabulary)}


# --- config.json -------------------------------------------------------------


def test_sizes_alone(tmp_path):
    path = write_config(tmp_path, n_special=0, model_type="openai-gpt")
    assert huggingface.read_config(path) == SIZES


def test_rates_and_epsilon(tmp_path):
    path = write_config(
        tmp_path,
        afn="gelu_new",
        embd_pdrop=0.1,
        attn_pdrop=0,
        resid_pdrop=0.3,
        layer_norm_epsilon=1e-6,
        initializer_range=0.01,
    )
    assert huggingface.read_config(path) == SIZES | {
        "embedding_dropout": 0.1,
        "attention_dropout": 0,
        "residual_dropout": 0.3,
        "layer_norm_epsilon": 1e-6,
        "initializer_range": 0.01,
    }


@pytest.mark.parametrize(
    "values, expected",
    [
        ({"model_type": "gpt2"}, "model_type is 'gpt2'"),
        ({"afn": "relu"}, "afn is 'relu'"),
        ({"n_layer": True}, "n_layer is True"),
        ({"vocab_size": "60"}, "vocab_size is '60'"),
        ({"n_positions": None}, "n_positions is None"),
        ({"embd_pdrop": 1}, "embd_pdrop is 1, expected 0 to 1"),
        ({"resid_pdrop": -0.1}, "resid_pdrop is -0.1"),
        ({"n_head": 3}, "into 3 attention heads: n_head in .*config.json"),
    ],
)
def test_other_networks(tmp_path, values, expected):
    path = write_config(tmp_path, **values)
    with pytest.raises(errors.InputError, match=expected):
        huggingface.read_config(path)


# --- vocabulary --------------------------------------------------------------


def write_whole(directory, **changes):
    model = {
        "type": "BPE",
        "end_of_word_suffix": "</w>",
        "vocab": vocabulary(),
        "merges": [list(pair) for pair in small_models.byte_pairs().merges],
    }
    content = json.dumps({"model": model | changes})
    (directory / "tokenizer.json").write_text(content)


def test_two_files_come_before_one(tmp_path):
    write_whole(tmp_path, type="Unigram", vocab=None)
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary()))
    merges = "\n".join(map(" ".join, small_models.byte_pairs().merges))
    (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}\n")
    tokenizer, path = huggingface.read_tokenizer(tmp_path)
    assert tokenizer.sha256 == small_models.byte_pairs().sha256
    assert path == tmp_path / "vocab.json"


@pytest.mark.parametrize("as_strings", [True, False])
def test_one_file(tmp_path, as_strings):
    pairs = small_models.byte_pairs().merges
    write_whole(
        tmp_path, merges=[" ".join(p) if as_strings else p for p in pairs]
    )
    tokenizer, path = huggingface.read_tokenizer(tmp_path)
    assert tokenizer.sha256 == small_models.byte_pairs().sha256
    assert path == tmp_path / "tokenizer.json"


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab": [["a", -1.0]]},
        {"vocab": {"a": 0, "b": 2}},
        {"merges": ["a b c"]},
        {"merges": None},
        {"end_of_word_suffix": None},
    ],
)
def test_other_vocabularies(tmp_path, changes):
    write_whole(tmp_path, **changes)
    with pytest.raises(
        errors.InputError, match="tokenizer.json has no byte-pair"
    ):
        huggingface.read_tokenizer(tmp_path)


def test_no_vocabulary(tmp_path):
    with pytest.raises(errors.InputError, match="vocab.json"):
        huggingface.read_tokenizer(tmp_path)


# --- out ---------------------------------------------------------------------


def test_contents_are_read_back(tmp_path):
    network = small_models.network(vocabulary_size=60, num_heads=4)
    written = huggingface.contents(network, small_models.byte_pairs())
    for name, content in written.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    config = huggingface.read_config(tmp_path / "config.json")
    assert {name: config[name] for name in SIZES} == SIZES
    tokenizer, _ = huggingface.read_tokenizer(tmp_path)
    assert tokenizer.sha256 == small_models.byte_pairs().sha256
    assert json.loads(written["tokenizer_config.json"]) == {
        "tokenizer_class": "OpenAIGPTTokenizer",
        "model_max_length": 12,
        "unk_token": "<unk>",
    }


@pytest.mark.needs_data
def test_transformers_cuts_plain_sentences_as_the_released_code(
    tmp_path, shared_file
):
    # Where it does not: `python -m tests.reference.huggingface_tokenizer`.
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = shared_file("data/gpt1_vocab")
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        folder / "encoder_bpe_40000.json", folder / "vocab_40000.bpe"
    )
    network = small_models.network(vocabulary_size=40478, num_heads=4)
    for name, text in huggingface.contents(network, tokenizer).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    path = shared_file("golden/tokenizer_openai_a.json")
    cases = json.loads(path.read_text("utf-8"))
    plain = [
        case
        for case in cases
        if re.fullmatch("[A-Za-z ,;?!]+[a-z]{2}[.]?", case["text"])
    ]
    assert len(plain) > 30
    for case in plain:
        assert theirs(case["text"])["input_ids"] == case["ids"], case["text"]
