"""The weights that OpenAI released with finetune-transformer-lm.

A folder holds `params_shapes.json`, the shapes of all arrays in order, and
`params_0.npy` to `params_9.npy`: the arrays flattened, joined and split into
shards of any size. Positions and tokens come first, then twelve arrays for each
block. The vocabulary is `encoder_bpe_40000.json` and `vocab_40000.bpe`.
"""

import math
import pathlib

import numpy as np

from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras.convert import networks
from gpt1_keras.text import tokenizer as tokenizer_lib

SHAPES = "params_shapes.json"
VOCABULARY = "encoder_bpe_40000.json"
MERGES = "vocab_40000.bpe"
_HEAD_DIM = 64


def read(directory, *, num_heads=None):
    """Return a `GPT1CausalLM` with the weights and vocabulary of a folder.

    No file states `num_heads`; None gives heads of width 64, as released.
    """
    directory = pathlib.Path(directory)
    shapes = _read_shapes(directory / SHAPES)
    width = shapes[0][1]
    # By number, so that the error names a missing shard.
    num_shards = len(list(directory.glob("params_[0-9]*.npy")))
    shards = [directory / f"params_{i}.npy" for i in range(num_shards)]
    numbers = np.concatenate([*map(_open, shards)] or [[]])
    *ends, expected = np.cumsum(list(map(math.prod, shapes)))
    if len(numbers) != expected:
        raise errors.InputError(
            f"{directory}: {num_shards} shards hold {len(numbers)} numbers, "
            f"{SHAPES} lists {expected}: a shard is missing or of another model"
        )
    # Dense layers are stored as convolutions: [1, A, B] -> [A, B]
    arrays = [
        part.reshape(shape[1:] if len(shape) == 3 and shape[0] == 1 else shape)
        for part, shape in zip(np.split(numbers, ends), shapes, strict=True)
    ]
    return networks.causal_lm(
        tokenizer_lib.Tokenizer.from_files(
            directory / VOCABULARY, directory / MERGES
        ),
        lambda variables: zip(variables, arrays, strict=True),
        directory,
        max_sequence_length=shapes[0][0],
        vocabulary_size=shapes[1][0],
        hidden_dim=width,
        num_layers=len(shapes[2:]) // len(networks.BLOCK_WEIGHTS),
        num_heads=width // _HEAD_DIM if num_heads is None else num_heads,
    )


def _read_shapes(path):
    try:
        shapes = files.parse_json(path.read_bytes(), list)
        (_, width), (_, other_width), *blocks = shapes
        are_sizes = all(
            type(size) is int and size > 0 for shape in shapes for size in shape
        )
        is_whole = blocks and len(blocks) % len(networks.BLOCK_WEIGHTS) == 0
        if not (are_sizes and is_whole and width == other_width):
            raise ValueError
    except (OSError, ValueError, TypeError):
        raise errors.InputError(
            f"{path} is missing or not a list of shapes such as [512, 768], 2 "
            "and 12 for each block: download the released model again"
        ) from None
    return shapes


def _open(path):
    try:
        # np.load would also open .npz files and pickles.
        array = np.lib.format.open_memmap(path, mode="r")
        if array.dtype != np.float32 or array.ndim != 1:
            raise ValueError
    except (ValueError, EOFError, OSError):
        raise errors.InputError(
            f"{path} is missing, truncated or not an .npy file of flat float32:"
            " download it again"
        ) from None
    return array
