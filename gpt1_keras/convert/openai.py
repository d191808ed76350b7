"""Weights that OpenAI released with finetune-transformer-lm.

A folder holds `params_shapes.json`, the shapes of all arrays in order, and
`params_0.npy` to `params_9.npy`: the arrays flattened, joined and split into
pieces of any size. Positions and tokens come first, then twelve arrays for
each block. Beside them are `encoder_bpe_40000.json` and `vocab_40000.bpe`.
"""

import json
import math
import pathlib

import numpy as np

from gpt1_keras import errors
from gpt1_keras.convert import networks
from gpt1_keras.text import tokenizer as tokenizer_lib

SHAPES = "params_shapes.json"
VOCABULARY = "encoder_bpe_40000.json"
MERGES = "vocab_40000.bpe"
_HEAD_DIM = 64


def read(directory, *, num_heads=None):
    """Return a `GPT1CausalLM` with the weights and vocabulary of a folder.

    It reads one shard at a time: memory holds little more than the network.

    No file states `num_heads`; None gives heads of width 64, as in the
    released network.
    """
    directory = pathlib.Path(directory)
    shapes = _read_shapes(directory / SHAPES)
    sizes = _sizes(shapes, num_heads)
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        _present(directory / VOCABULARY), _present(directory / MERGES)
    )
    networks.check_vocabulary(
        tokenizer, sizes["vocabulary_size"], directory / VOCABULARY
    )
    shards = _shard_paths(directory)
    found = sum(len(_open(path)) for path in shards)
    expected = sum(map(math.prod, shapes))
    if found != expected:
        raise errors.InputError(
            f"{directory}: {len(shards)} shards hold {found} numbers, {SHAPES} "
            f"lists {expected}: a shard is missing or from another model"
        )
    return networks.causal_lm(
        tokenizer,
        lambda variables: _values(variables, shapes, shards),
        directory,
        **sizes,
    )


def _present(path):
    if not path.is_file():
        raise errors.InputError(
            f"{path} is missing: give the folder of the released model"
        )
    return path


def _read_shapes(path):
    content = _present(path).read_bytes()
    try:
        shapes = json.loads(content)
        (positions, width), (vocabulary_size, _), *blocks = shapes
        sizes = (positions, width, vocabulary_size)
        if not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise errors.InputError(
            f"{path} is not a list of shapes such as [512, 768]: download it "
            "again"
        ) from None
    block = block_shapes(width)
    if not blocks or len(blocks) % len(block):
        raise errors.InputError(
            f"{path} has {len(shapes)} shapes, expected 2 and 12 for each "
            "block: download it again"
        )
    expected = [[positions, width], [vocabulary_size, width]]
    expected += block * (len(blocks) // len(block))
    for number, (shape, wanted) in enumerate(zip(shapes, expected)):
        if shape != wanted:
            raise errors.InputError(
                f"{path}: shape {number} is {shape}, expected {wanted}: this "
                "is not the released layout"
            )
    return expected


def _sizes(shapes, num_heads):
    """Return the arguments of `networks.build` that follow from the shapes."""
    width = shapes[0][1]
    heads = width // _HEAD_DIM if num_heads is None else num_heads
    networks.check_heads(heads, width, "give --num_heads")
    return {
        "max_sequence_length": shapes[0][0],
        "vocabulary_size": shapes[1][0],
        "hidden_dim": width,
        "num_layers": len(shapes[2:]) // len(networks.BLOCK_WEIGHTS),
        "num_heads": heads,
    }


def block_shapes(width):
    """Return the stored shapes of the twelve arrays of a block.

    Dense layers are stored as convolutions over one position.
    """
    norm = [[width], [width]]
    return [
        *([1, width, 3 * width], [3 * width]),
        *([1, width, width], [width]),
        *norm,
        *([1, width, 4 * width], [4 * width]),
        *([1, 4 * width, width], [width]),
        *norm,
    ]


def _shard_paths(directory):
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
    try:
        # np.load would also open .npz files and pickles.
        array = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, OSError):
        raise errors.InputError(
            f"{path} is truncated or not an .npy file: download it again"
        ) from None
    if array.dtype != np.float32 or array.ndim != 1:
        raise errors.InputError(
            f"{path} has {array.dtype} of shape {list(array.shape)}, expected "
            "flat float32: download it again"
        )
    return array


def _values(variables, shapes, shards):
    """Yield (name, array) in order from the shards."""
    pieces = (_open(path) for path in shards)
    piece = next(pieces)
    for shape, name in zip(shapes, variables, strict=True):
        value = np.empty(math.prod(shape), np.float32)
        filled = 0
        while filled < len(value):
            if not len(piece):
                piece = next(pieces)
            part = piece[: len(value) - filled]
            value[filled : filled + len(part)] = part
            filled += len(part)
            piece = piece[len(part) :]
        # [1, A, B] -> [A, B]
        yield name, value.reshape(shape[-2:])
