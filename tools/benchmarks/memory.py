"""Peak host memory of two pretraining steps of 8 sequences, in GB.

Ours (bfloat16) by sequences per forward pass, and transformers' network with
all at once. Each is a process of its own; its libraries are counted.
"""

import os
import sys

from tools.benchmarks import networks
from tools.benchmarks import pretrain
from tools.benchmarks import process

_BATCH_SIZE, _STEPS = 8, 2
_PEER = "transformers"


def measure(*, sizes, rounds):
    """Return what was measured, a dict with `ratios` to the last of ours.

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: not used: a process needs the same memory again.
    """
    del rounds
    kinds = ["1", "2", "4", "8"]
    if networks.has_transformers():
        kinds.append(_PEER)
    values = {
        kind: process.call(__name__, "run", kind=kind, sizes=sizes)["peak"]
        for kind in kinds
    }
    ratios = {kind: peak / values["8"] for kind, peak in values.items()}
    return {"unit": "GB", "values": values, "ratios": ratios}


def run(*, kind, sizes):
    """Run the steps of one contender; return the peak."""
    ids = networks.token_ids(
        *(_BATCH_SIZE, sizes["max_sequence_length"]),
        vocabulary_size=sizes["vocabulary_size"],
    )
    if kind == _PEER:
        steps, _ = pretrain.transformers(
            networks.random_transformers_lm(sizes), ids, False, num_steps=_STEPS
        )
    else:
        if os.environ.get("KERAS_BACKEND", "tensorflow") == "tensorflow":
            # TensorFlow Lite would import it where it is installed.
            sys.modules["jax"] = None
        import keras

        keras.config.set_dtype_policy("mixed_bfloat16")
        steps, _ = pretrain.ours(
            networks.backbone(**sizes, dropout=0.1),
            ids,
            num_steps=_STEPS,
            micro_batch_size=int(kind),
        )
    steps()
    return {"peak": process.peak()}
