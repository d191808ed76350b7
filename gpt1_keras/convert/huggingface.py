"""GPT-1 in the format of the transformers library (`openai-gpt`), in and out.

A folder holds `config.json`, the weights and the vocabulary: `vocab.json` and
`merges.txt`, or `tokenizer.json` (`convert.fast_tokenizer`); folders written
here hold all three. Dense kernels are `[in, out]` as here; the softmax is tied
to the token table. transformers applies embedding dropout to activations, this
package by default to the tables.
"""

import json
import pathlib
import re

import ml_dtypes  # noqa: F401, registers bfloat16 with numpy
import numpy as np
import tokenizers
from absl import logging
from keras import ops
from safetensors import numpy as safetensors_numpy

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import precision
from gpt1_keras.convert import fast_tokenizer
from gpt1_keras.convert import networks
from gpt1_keras.models import backbone
from gpt1_keras.text import subwords
from gpt1_keras.text import tokenizer as tokenizer_lib

SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
_FLOATS = ("float64", "float32", "float16", "bfloat16")
# Names in config.json -> names here.
_SIZES = {
    "vocab_size": "vocabulary_size",
    "n_layer": "num_layers",
    "n_head": "num_heads",
    "n_embd": "hidden_dim",
    "n_positions": "max_sequence_length",
}
_RATES = {
    "embd_pdrop": "embedding_dropout",
    "attn_pdrop": "attention_dropout",
    "resid_pdrop": "residual_dropout",
    "layer_norm_epsilon": "layer_norm_epsilon",
    "initializer_range": "initializer_range",
}
_ALLOWED = {
    "model_type": ("openai-gpt",),
    "afn": ("gelu", "gelu_new"),  # both mean the tanh approximation
}
_UNKNOWN = subwords.BytePair.unknown
_PREFIX = "transformer."
_TOKENS = "tokens_embed.weight"
_OUTPUT = "lm_head.weight"
# The causal mask and position numbers that older versions stored.
_BUFFER = re.compile(r"h\.\d+\.attn\.bias|position_ids")
_OTHER_HEADS = ("multiple_choice_head.", "score.")


def read(directory):
    """Return a `GPT1CausalLM` with the weights and vocabulary of a folder.

    Raises:
        InputError: files are missing, damaged or of another network.
    """
    directory = pathlib.Path(directory)
    sizes = read_config(directory / "config.json")
    tokenizer = read_tokenizer(directory)
    tensors = _network_tensors(directory)
    num_values = sum(array.size for array in tensors.values())
    for theirs, ours in _SIZES.items():  # Else a network of any size is built.
        limit = len(tensors) if ours == "num_layers" else num_values
        if sizes[ours] > limit:
            raise errors.InputError(
                f"{directory / 'config.json'}: {theirs} is {sizes[ours]}, but "
                f"there are {num_values:,} weights: correct it"
            )

    def values(variables):
        theirs = {_tensor_name(name): name for name in variables}
        for name in sorted(theirs.keys() ^ tensors.keys()):
            problem = "is missing" if name in theirs else "is not expected"
            raise errors.InputError(
                f"{directory}: the tensor {name} {problem}: weights and "
                "config.json belong to different networks"
            )
        for name, ours in theirs.items():
            yield ours, tensors[name].astype("float32", copy=False)

    return networks.causal_lm(tokenizer, values, directory, **sizes)


def read_config(path):
    """Return the sizes and rates of `GPT1Backbone` from a `config.json`."""
    text = files.read_text("config", path, "give the folder of a model")
    try:
        config = files.parse_json(text)
    except ValueError as error:
        raise errors.InputError(f"{path}: {error}: download it again") from None
    for name, allowed in _ALLOWED.items():
        if config.get(name, allowed[0]) not in allowed:
            raise errors.InputError(
                f"{path}: {name} is {config[name]!r}, GPT-1 has {allowed[0]!r}"
            )
    for name in _SIZES:
        checks.check(f"{path}: {name}", config.get(name), checks.Count)
    for name in _RATES.keys() & config.keys():
        checks.check(f"{path}: {name}", config[name], checks.Rate)
    names = (_SIZES | _RATES).items()
    return {ours: config[name] for name, ours in names if name in config}


def read_tokenizer(directory):
    """Return the `Tokenizer` of a folder."""
    vocabulary, merges = directory / "vocab.json", directory / "merges.txt"
    whole = directory / "tokenizer.json"
    if vocabulary.is_file() or not whole.is_file():
        return tokenizer_lib.Tokenizer.from_files(vocabulary, merges)
    try:
        # The library also checks it, and makes "a b" the pair ["a", "b"].
        found = tokenizers.Tokenizer.from_file(str(whole)).to_str()
        model = json.loads(found)["model"]
        pieces = subwords.by_id(model["vocab"], whole)
        if model["end_of_word_suffix"] != subwords.END_OF_WORD:
            raise ValueError
    except Exception:  # The library raises nothing more special.
        raise errors.InputError(
            f"{whole} has no byte-pair vocabulary with ids from 0 and </w>: "
            "add vocab.json and merges.txt"
        ) from None
    return tokenizer_lib.Tokenizer.checked(pieces, model["merges"], whole)


def _tensor_name(released):
    """Return transformers' name, without prefix, of a released tensor."""
    if "/" not in released:
        return f"{released}_embed.weight"
    block, *parts, last = released.split("/")
    kind = "bias" if last == "b" else "weight"
    return ".".join(["h", block[1:], *parts, kind])


def _network_tensors(directory):
    """Return {name: array} of the network, without prefix, masks and heads."""
    found = {}
    for name, array in read_tensors(directory).items():
        name = name.removeprefix(_PREFIX)
        if _BUFFER.fullmatch(name):
            continue
        if name.startswith(_OTHER_HEADS):
            logging.warning("%s: %s is not converted", directory, name)
            continue
        if array.dtype.name not in _FLOATS:
            raise errors.InputError(
                f"{directory}: {name} is {array.dtype}: give float weights"
            )
        found[name] = array
    output = found.pop(_OUTPUT, None)
    # Some versions store only the output of the two tied tensors.
    if output is not None and not np.array_equal(
        found.setdefault(_TOKENS, output), output
    ):
        raise errors.InputError(
            f"{directory}: {_OUTPUT} differs from {_TOKENS}; GPT-1 ties them,"
            " so this model cannot be converted"
        )
    return found


def read_tensors(directory):
    """Return `{name: array}` of `model.safetensors`, or `pytorch_model.bin`.

    From the latter, torch loads only tensors and no code; they become float32.
    """
    path = directory / SAFETENSORS
    if (directory / f"{SAFETENSORS}.index.json").is_file():
        raise errors.InputError(
            f"{directory} holds the weights in several files: save them in one,"
            " by save_pretrained(FOLDER, max_shard_size='100GB')"
        )
    try:
        if path.is_file():
            return safetensors_numpy.load_file(path)
        path = directory / PICKLE
        import torch

        tensors = torch.load(path, map_location="cpu", weights_only=True)
        return {k: v.detach().float().numpy() for k, v in tensors.items()}
    except Exception as error:  # of many types
        raise errors.InputError(
            f"{path} cannot be read as a dict of tensors ({str(error)[:80]}): "
            f"download {SAFETENSORS}"
        ) from None


def write(model, directory):
    """Write a folder for transformers; it appears only when complete.

    A language model becomes an `OpenAIGPTLMHeadModel` without special-token
    rows, which the softmax never covers. A classifier of texts or pairs becomes
    an `OpenAIGPTForSequenceClassification`, whose tokenizer adds start,
    delimiter and extract tokens.

    Args:
        model: `GPT1CausalLM`, or `GPT1TaskModel` with a preprocessor; its
            vocabulary must be byte-pair.
        directory: path of a new or empty folder.

    Raises:
        InputError: transformers has no such network, task or vocabulary.
    """
    network, ours = model.backbone, model.preprocessor
    tokenizer = ours.tokenizer.pipeline
    precision.check_float(model)
    _check_writable(model)
    arrays = {
        _PREFIX + _tensor_name(name): _array(variable)
        for name, variable in networks.variables(network).items()
    }
    config = {"model_type": "openai-gpt", "afn": "gelu", "dtype": "float32"}
    config |= {k: getattr(network, v) for k, v in (_SIZES | _RATES).items()}
    if hasattr(model, "head"):
        special = fast_tokenizer.SPECIAL
        is_pair = ours.transform == "entailment"
        fast = fast_tokenizer.build(tokenizer, is_pair=is_pair)
        arrays |= _classifier_arrays(model, arrays)
        names = dict(enumerate(ours.label_words))
        config |= {
            "architectures": ["OpenAIGPTForSequenceClassification"],
            "vocab_size": fast.get_vocab_size(),
            "pad_token_id": fast.token_to_id(special["pad_token"]),
            "id2label": names,
            "label2id": {name: index for index, name in names.items()},
        }
    else:
        # Programs that score texts need a first token, and those that read
        # several at once one for padding; the paper has neither.
        roles = ("bos_token", "eos_token", "pad_token")
        special = dict.fromkeys(roles, _UNKNOWN)
        fast = fast_tokenizer.build(tokenizer)
        config["architectures"] = ["OpenAIGPTLMHeadModel"]
        config["tie_word_embeddings"] = True
    contents = fast_tokenizer.contents(fast, ours.sequence_length, special)
    contents |= {
        SAFETENSORS: safetensors_numpy.save(arrays, {"format": "pt"}),
        "config.json": json.dumps(config, indent=2),
        "vocab.json": json.dumps(tokenizer.ids),
        "merges.txt": subwords.merges_text(tokenizer.merges),
    }
    directory = pathlib.Path(directory)
    if directory.exists():
        directory.rmdir()  # Only an empty one.
    with files.new_folder(directory) as temporary:
        for name, content in contents.items():
            files.write_atomic(temporary / name, content)


def _check_writable(model):
    """Refuse a model that transformers has no class for."""
    network, ours = model.backbone, model.preprocessor
    tokenizer = ours.tokenizer.pipeline
    problem = None
    if type(network) is not backbone.GPT1Backbone:
        problem = f"a {type(network).__name__}"
    elif network.intermediate_dim != 4 * network.hidden_dim:
        problem = f"feed-forward networks of width {network.intermediate_dim}"
    elif tokenizer.type != "bpe" or _UNKNOWN not in tokenizer.vocabulary:
        problem = f"no byte-pair vocabulary with {_UNKNOWN}"
    elif hasattr(model, "head") and not (
        ours.label_words and ours.transform in ("classification", "entailment")
    ):
        problem = f"a head for {ours.task}, not for classes of texts or pairs"
    if problem:
        raise errors.InputError(
            f"the preset has {problem}, which transformers' openai-gpt does "
            "not support: give another preset"
        )


def _array(variable):
    return np.ascontiguousarray(ops.convert_to_numpy(variable), np.float32)


def _classifier_arrays(model, arrays):
    """Return {name: weights} in which a classifier differs.

    transformers' `score` layer has no bias. Instead, the bias of the last norm
    is shifted by the shortest `d` `[D]` with `kernel^T d = bias`.
    """
    network, dense = model.backbone, model.head.dense
    special = _array(network.token_and_position_embedding.special_embeddings)
    # Tokens, special tokens and padding: [V, D], [3, D], [1, D] -> [V + 4, D]
    tokens = [arrays[_PREFIX + _TOKENS], special, np.zeros_like(special[:1])]
    kernel, bias = _array(dense.kernel), _array(dense.bias)
    # [Y, D], [Y] -> [D]
    shift = np.linalg.lstsq(kernel.T.astype("float64"), bias)[0]
    if not np.allclose(kernel.T @ shift, bias, atol=1e-6):
        raise errors.InputError(
            "the head's bias cannot be moved into the last norm, and"
            " transformers has no place for it: train the head further"
        )
    last = f"{_PREFIX}h.{network.num_layers - 1}.ln_2.bias"
    return {
        _PREFIX + _TOKENS: np.concatenate(tokens),
        last: (arrays[last] + shift).astype("float32"),
        "score.weight": kernel.T.copy(),
    }
