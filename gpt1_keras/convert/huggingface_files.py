"""Configuration and vocabulary in a Hugging Face folder of GPT-1."""

import json

from gpt1_keras import errors
from gpt1_keras.convert import networks
from gpt1_keras.text import tokenizer as text_tokenizer

UNKNOWN = "<unk>"
# Name in config.json -> ours.
_SIZES = {
    "vocab_size": "vocabulary_size",
    "n_layer": "num_layers",
    "n_head": "num_heads",
    "n_embd": "hidden_dim",
    "n_positions": "max_sequence_length",
}
_NUMBERS = {
    "embd_pdrop": "embedding_dropout",
    "attn_pdrop": "attention_dropout",
    "resid_pdrop": "residual_dropout",
    "layer_norm_epsilon": "layer_norm_epsilon",
    "initializer_range": "initializer_range",
}


def read_config(path):
    """Return the arguments of `networks.build`, a dict.

    Raises:
        InputError: `config.json` is missing, damaged, or not of a GPT-1.
    """
    config = _read_json(path)
    kind, activation = config.get("model_type"), config.get("afn", "gelu")
    if kind not in (None, "openai-gpt"):
        raise errors.InputError(
            f"{path}: model_type is {kind!r}, expected 'openai-gpt'"
        )
    # Both names mean the approximation with tanh there.
    if activation not in ("gelu", "gelu_new"):
        raise errors.InputError(
            f"{path}: afn is {activation!r}, but GPT-1 has 'gelu' only"
        )
    found = {}
    for name, ours in _SIZES.items():
        found[ours] = config.get(name)
        if type(found[ours]) is not int or found[ours] < 1:
            raise errors.InputError(
                f"{path}: {name} is {found[ours]!r}, expected a number above 0"
            )
    for name, ours in _NUMBERS.items():
        if name in config:
            found[ours] = config[name]
            if (
                type(found[ours]) not in (int, float)
                or not 0 <= found[ours] < 1
            ):
                raise errors.InputError(
                    f"{path}: {name} is {found[ours]!r}, expected 0 to 1"
                )
    networks.check_heads(
        found["num_heads"], found["hidden_dim"], f"n_head in {path} is wrong"
    )
    return found


def read_tokenizer(directory):
    """Return (`Tokenizer`, path of the file its vocabulary is from).

    Raises:
        InputError: the vocabulary is missing or damaged.
    """
    vocabulary, merges = directory / "vocab.json", directory / "merges.txt"
    whole = directory / "tokenizer.json"
    if vocabulary.is_file() or not whole.is_file():
        tokenizer = text_tokenizer.Tokenizer.from_files(vocabulary, merges)
        return tokenizer, vocabulary
    model = _read_json(whole).get("model")
    try:
        ids = {number: piece for piece, number in model["vocab"].items()}
        pieces = [ids[number] for number in range(len(model["vocab"]))]
        pairs = [
            tuple(pair.split(" ") if isinstance(pair, str) else pair)
            for pair in model["merges"]
        ]
        is_known = all(len(pair) == 2 for pair in pairs)
        is_known &= model.get("end_of_word_suffix") == "</w>"
    except (KeyError, TypeError, AttributeError):
        is_known = False
    if not is_known:
        raise errors.InputError(
            f"{whole} has no byte-pair vocabulary with ids from 0 and </w>: "
            "add vocab.json and merges.txt"
        )
    return text_tokenizer.Tokenizer(pieces, pairs), whole


def _read_json(path):
    try:
        content = json.loads(path.read_bytes())
    except OSError:
        raise errors.InputError(
            f"{path} is missing: give the folder of a model"
        ) from None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise errors.InputError(f"{path} is no JSON object: get it again")
    return content


def contents(network, tokenizer):
    """Return `{name: content}` of all files but the weights.

    Args:
        network: `GPT1Backbone`.
        tokenizer: `gpt1_keras.text.tokenizer.Tokenizer` of byte pairs.
    """
    config = {
        "architectures": ["OpenAIGPTLMHeadModel"],
        "model_type": "openai-gpt",
        "afn": "gelu",
        "dtype": "float32",
        "tie_word_embeddings": True,
    }
    for name, ours in (_SIZES | _NUMBERS).items():
        config[name] = getattr(network, ours)
    special = {"unk_token": UNKNOWN}
    tokenizer_config = special | {
        "tokenizer_class": "OpenAIGPTTokenizer",
        "model_max_length": network.max_sequence_length,
    }
    ids = {piece: i for i, piece in enumerate(tokenizer.vocabulary)}
    merges = ["#version: 0.2", *map(" ".join, tokenizer.merges), ""]
    return {
        "config.json": json.dumps(config, indent=2),
        "tokenizer_config.json": json.dumps(tokenizer_config, indent=2),
        "special_tokens_map.json": json.dumps(special, indent=2),
        "vocab.json": json.dumps(ids),
        "merges.txt": "\n".join(merges),
    }
