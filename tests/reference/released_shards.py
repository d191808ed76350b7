"""Weights written in the layout in which OpenAI released GPT-1."""

import json

import numpy as np

from tests.reference import small_models

# Of `small_models.network`, as a released network has them.
SMALL = {"vocabulary_size": 60, "intermediate_dim": 32, "num_special_tokens": 0}


def write_small(directory, ends=(7, 700, 1501)):
    """Write a network of `SMALL` sizes, cut at `ends`, and its vocabulary.

    Returns its arrays under their released names.
    """
    arrays = small_models.released_arrays(small_models.network(**SMALL))
    # Positions first, matrices with an axis of length 1.
    stored = [arrays["we"][-12:], arrays["we"][:-12]]
    for layer in range(2):
        for name in small_models.BLOCK_NAMES:
            value = arrays[f"h{layer}/{name}"]
            stored.append(value[None] if name.endswith("/w") else value)
    directory.mkdir(parents=True, exist_ok=True)
    shapes = [list(array.shape) for array in stored]
    (directory / "params_shapes.json").write_text(json.dumps(shapes))
    flat = np.concatenate([array.reshape(-1) for array in stored])
    for number, piece in enumerate(np.split(flat.astype("float32"), ends)):
        np.save(directory / f"params_{number}.npy", piece)
    small_models.byte_pairs().save(directory)
    (directory / "vocabulary.json").rename(directory / "encoder_bpe_40000.json")
    (directory / "merges.txt").rename(directory / "vocab_40000.bpe")
    return arrays
