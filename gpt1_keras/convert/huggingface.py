"""GPT-1 as the transformers library keeps it (`openai-gpt`), in and out.

A folder holds `config.json`, the weights (`convert.tensor_files`) and the
vocabulary: `vocab.json` and `merges.txt`, or `tokenizer.json` with both.
Dense kernels are `[in, out]` as here; the softmax is tied to the token table.

transformers splits text by other rules than OpenAI and this program did:
contractions, "..." and line breaks give other ids there. It drops out
activations of the embedding, here it is rows of its tables.
"""

import pathlib
import re
import shutil

import numpy as np
import safetensors
from absl import logging
from keras import ops
from safetensors import numpy as safetensors_numpy

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.convert import huggingface_files
from gpt1_keras.convert import networks
from gpt1_keras.convert import tensor_files
from gpt1_keras.models import backbone
from gpt1_keras.models import builders

_PREFIX = "transformer."
_TOKENS = "tokens_embed.weight"
_OUTPUT = "lm_head.weight"
# The causal mask and the numbers 0, 1, ... that older versions stored.
_BUFFER = re.compile(r"h\.\d+\.attn\.bias|position_ids")
_OTHER_HEADS = ("multiple_choice_head.", "score.")


def read(directory):
    """Return a `GPT1CausalLM` with the weights and vocabulary of a folder.

    Args:
        directory: path of the folder described above.

    Raises:
        InputError: a file is missing or damaged, they do not fit together,
            or the network is none that a `GPT1Backbone` can be.
    """
    directory = pathlib.Path(directory)
    sizes = huggingface_files.read_config(directory / "config.json")
    tokenizer, path = huggingface_files.read_tokenizer(directory)
    networks.check_vocabulary(tokenizer, sizes["vocabulary_size"], path)
    tensors = _of_network(tensor_files.find(directory), directory)
    network = networks.build(**sizes)
    variables = _variables(network)
    for name in sorted(variables.keys() ^ tensors.keys()):
        problem = "is missing" if name in variables else "is not expected"
        raise errors.InputError(
            f"{directory}: the tensor {name} {problem}: weights and "
            "config.json are not of the same network"
        )
    for name, variable in variables.items():
        networks.assign(variable, tensors[name](), f"{directory}: {name}")
    return builders.gpt1_causal_lm(network, tokenizer)


def write(model, directory):
    """Write a folder that transformers loads; it appears when all is done.

    Rows of special tokens, which the softmax never sees, are left out.

    Args:
        model: `GPT1CausalLM` with a byte-pair vocabulary.
        directory: path of a new or empty folder.

    Raises:
        InputError: transformers has no such network or vocabulary.
        OSError: it cannot be written, as on a full disk; nothing is left.
    """
    network = model.backbone
    tokenizer = model.preprocessor.tokenizer.pipeline
    _check_writable(network, tokenizer)
    directory = pathlib.Path(directory)
    temporary = directory.with_name(f".{directory.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _write_files(network, tokenizer, temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    if directory.exists():
        directory.rmdir()
    temporary.rename(directory)


def _write_files(network, tokenizer, directory):
    path = directory / tensor_files.SAFETENSORS
    arrays = {
        _PREFIX + name: np.ascontiguousarray(
            ops.convert_to_numpy(variable), np.float32
        )
        for name, variable in _variables(network).items()
    }
    try:
        safetensors_numpy.save_file(arrays, path, metadata={"format": "pt"})
    except safetensors.SafetensorError as error:
        raise OSError(str(error)) from None
    files.sync(path)
    for name, content in huggingface_files.contents(network, tokenizer).items():
        files.write_atomic(directory / name, content)


def _variables(network):
    """Return `{Hugging Face's name without prefix: variable}`."""
    found = {}
    for name, variable in networks.variables(network).items():
        if "/" not in name:
            found[f"{name}_embed.weight"] = variable
            continue
        block, *parts, last = name.split("/")
        kind = "bias" if last == "b" else "weight"
        found[".".join(["h", block[1:], *parts, kind])] = variable
    return found


def _of_network(tensors, directory):
    """Return the tensors without prefix, mask buffers and heads."""
    found = {}
    for name, load in tensors.items():
        name = name.removeprefix(_PREFIX)
        if name.startswith(_OTHER_HEADS):
            logging.warning("%s: %s is left out", directory, name)
        elif not _BUFFER.fullmatch(name):
            found[name] = load
    output = found.pop(_OUTPUT, None)
    if output is None:
        return found
    # Of tied tensors some versions keep this one.
    if not np.array_equal(found.setdefault(_TOKENS, output)(), output()):
        raise errors.InputError(
            f"{directory}: {_OUTPUT} differs from {_TOKENS}, but here both "
            "are one table: weights that are not tied cannot be used"
        )
    return found


def _check_writable(network, tokenizer):
    problem = None
    if type(network) is not backbone.GPT1Backbone:
        problem = f"a {type(network).__name__}"
    elif network.intermediate_dim != 4 * network.hidden_dim:
        problem = (
            f"feed-forward networks of {network.intermediate_dim}, not four "
            f"times the width {network.hidden_dim}"
        )
    elif tokenizer.type != "bpe":
        problem = f"a vocabulary of type {tokenizer.type}"
    elif huggingface_files.UNKNOWN not in tokenizer.vocabulary:
        problem = f"a vocabulary without {huggingface_files.UNKNOWN}"
    if problem:
        raise errors.InputError(
            f"the preset has {problem}, which transformers' openai-gpt cannot "
            "have: give another preset"
        )
