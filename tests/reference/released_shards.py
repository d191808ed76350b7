"""Weights written in the layout in which OpenAI released GPT-1."""

import json

import numpy as np

from tests.reference import small_models

# Of `small_models.network`, as a released network has them.
SMALL = {"vocabulary_size": 60, "intermediate_dim": 32, "num_special_tokens": 0}


def stored_arrays(arrays, *, num_positions):
    """Return arrays of released names in the released order and shapes.

    `arrays["we"]` holds token rows, then `num_positions` position rows.
    """
    stored = [arrays["we"][-num_positions:], arrays["we"][:-num_positions]]
    num_layers = len({name.split("/")[0] for name in arrays if name[0] == "h"})
    for layer in range(num_layers):
        for name in small_models.BLOCK_NAMES:
            value = np.asarray(arrays[f"h{layer}/{name}"])
            is_matrix = name.endswith("/w")
            stored.append(
                value.reshape(1, *value.shape[-2:]) if is_matrix else value
            )
    return stored


def write(directory, stored, ends, vocabulary):
    """Write the arrays, cut at `ends`, and the vocabulary into a folder."""
    directory.mkdir(parents=True, exist_ok=True)
    shapes = [list(array.shape) for array in stored]
    (directory / "params_shapes.json").write_text(json.dumps(shapes))
    flat = np.concatenate([array.reshape(-1) for array in stored])
    for number, piece in enumerate(np.split(flat.astype("float32"), ends)):
        np.save(directory / f"params_{number}.npy", piece)
    vocabulary.save(directory)
    (directory / "vocabulary.json").rename(directory / "encoder_bpe_40000.json")
    (directory / "merges.txt").rename(directory / "vocab_40000.bpe")


def write_small(directory, ends=(7, 700, 1501)):
    """Write a network of `SMALL` sizes; return its released arrays."""
    arrays = small_models.released_arrays(small_models.network(**SMALL))
    stored = stored_arrays(arrays, num_positions=12)
    write(directory, stored, ends, small_models.byte_pairs())
    return arrays
