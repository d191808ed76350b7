"""The weights OpenAI released with finetune-transformer-lm.

A folder holds `params_shapes.json`, the shapes of all arrays in order, and
`params_0.npy` to `params_9.npy`: the arrays flattened, joined and cut into
pieces of any size. First come positions and tokens, then twelve arrays for
each block. Beside them are `encoder_bpe_40000.json` and `vocab_40000.bpe`.
"""

import json
import math
import pathlib

import numpy as np

from gpt1_keras import errors
from gpt1_keras.convert import networks
from gpt1_keras.models import builders
from gpt1_keras.text import tokenizer as tokenizer_lib

SHAPES = "params_shapes.json"
VOCABULARY = "encoder_bpe_40000.json"
MERGES = "vocab_40000.bpe"
_HEAD_DIM = 64


def read(directory, *, num_heads=None):
    """Return a `GPT1CausalLM` with the weights and vocabulary of a folder.

    One shard at a time is looked at, so that memory holds the network and
    little more.

    Args:
        directory: path of the folder described above.
        num_heads: int. Attention heads, which no file tells; None for heads
            of 64, as in the released network.

    Raises:
        InputError: a file is missing or damaged, or they do not fit together.
    """
    directory = pathlib.Path(directory)
    shapes = _read_shapes(directory / SHAPES)
    sizes = _sizes(shapes, directory / SHAPES, num_heads)
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        _present(directory / VOCABULARY), _present(directory / MERGES)
    )
    networks.check_vocabulary(
        tokenizer, sizes["vocabulary_size"], directory / VOCABULARY
    )
    shards = _shard_paths(directory)
    _check_count(shards, shapes, directory)
    network = networks.build(**sizes)
    _assign(network, shapes, shards)
    return builders.gpt1_causal_lm(network, tokenizer)


def _present(path):
    if not path.is_file():
        raise errors.InputError(
            f"{path} is missing: give the folder of the released model"
        )
    return path


def _read_shapes(path):
    """Return the shapes of all arrays, a list of lists of int."""
    content = _present(path).read_bytes()
    try:
        shapes = json.loads(content)
    except ValueError:
        raise errors.InputError(f"{path} is not JSON: get it again") from None
    if not isinstance(shapes, list) or not all(map(_is_shape, shapes)):
        raise errors.InputError(
            f"{path} is not a list of shapes such as [512, 768]: get it again"
        )
    return shapes


def _is_shape(shape):
    return isinstance(shape, list) and all(
        type(size) is int and size > 0 for size in shape
    )


def _sizes(shapes, path, num_heads):
    """Return the arguments of `networks.build` that the shapes tell."""
    num_layers, rest = divmod(len(shapes) - 2, len(networks.BLOCK_WEIGHTS))
    if num_layers < 1 or rest:
        raise errors.InputError(
            f"{path} has {len(shapes)} shapes, expected 2 and 12 for each "
            "block: get it again"
        )
    if len(shapes[0]) != 2:
        raise errors.InputError(
            f"{path}: shape 0 is {shapes[0]}, expected [positions, width]"
        )
    width = shapes[0][1]
    expected = _block_shapes(width) * num_layers
    for number, shape in enumerate(shapes[1:], start=1):
        wanted = [shape[0], width] if number == 1 else expected[number - 2]
        if shape != wanted:
            raise errors.InputError(
                f"{path}: shape {number} is {shape}, expected {wanted}: this "
                "is not the released layout"
            )
    heads = width // _HEAD_DIM if num_heads is None else num_heads
    networks.check_heads(heads, width, "give --num_heads")
    return {
        "max_sequence_length": shapes[0][0],
        "vocabulary_size": shapes[1][0],
        "hidden_dim": width,
        "num_layers": num_layers,
        "num_heads": heads,
    }


def _block_shapes(width):
    # Dense layers are stored as convolutions over one position.
    dense = [(width, 3 * width), (width, width)]
    wide = [(width, 4 * width), (4 * width, width)]
    norm = [[width], [width]]
    return [
        *(shape for a, b in dense for shape in ([1, a, b], [b])),
        *norm,
        *(shape for a, b in wide for shape in ([1, a, b], [b])),
        *norm,
    ]


def _shard_paths(directory):
    """Return the paths of the shards by number."""
    found = {}
    for path in directory.glob("params_*.npy"):
        number = path.stem.removeprefix("params_")
        if number.isascii() and number.isdigit():
            found[int(number)] = path
    for number in range(max(found, default=0) + 1):
        if number not in found:
            _present(directory / f"params_{number}.npy")
    return [found[number] for number in sorted(found)]


def _open(path):
    """Return the array of a shard, not yet read into memory."""
    try:
        # Unlike np.load, which opens .npz files and pickles too.
        array = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, OSError):
        raise errors.InputError(
            f"{path} is cut short or no .npy file: get it again"
        ) from None
    if array.dtype != np.float32 or array.ndim != 1:
        raise errors.InputError(
            f"{path} has {array.dtype} of shape {list(array.shape)}, expected "
            "flat float32: get it again"
        )
    return array


def _check_count(shards, shapes, directory):
    found = sum(len(_open(path)) for path in shards)
    expected = sum(map(math.prod, shapes))
    if found != expected:
        raise errors.InputError(
            f"{directory}: {len(shards)} shards have {found} numbers, {SHAPES} "
            f"tells of {expected}: a shard is missing or of another model"
        )


def _assign(network, shapes, shards):
    """Set all weights from the shards, in order."""
    pieces = (_open(path) for path in shards)
    piece = next(pieces)
    for shape, (name, variable) in zip(
        shapes, networks.variables(network).items(), strict=True
    ):
        value = np.empty(math.prod(shape), np.float32)
        filled = 0
        while filled < len(value):
            if not len(piece):
                piece = next(pieces)
            part = piece[: len(value) - filled]
            value[filled : filled + len(part)] = part
            filled += len(part)
            piece = piece[len(part) :]
        where = f"{shards[0].parent}: {name}"
        # [1, A, B] -> [A, B]
        networks.assign(variable, value.reshape(variable.shape), where)
