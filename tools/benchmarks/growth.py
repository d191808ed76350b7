"""How the CPU time of a pretraining step grows: fitted exponents.

An exponent of 1 means that twice the size takes twice as long. It is lower if
some work does not depend on the size, and higher for attention over long
sequences.
"""

import statistics
import time

import keras
import numpy as np

from tools.benchmarks import networks
from tools.benchmarks import pretrain

_STEPS = 4
# Sequences, candidates and positions of a batch, and which of them grows.
_SMALLEST = {"batch": 2, "candidates": 1, "positions": 128}
_FACTORS = (1, 2, 4)


def measure(*, sizes, rounds):
    """Return what was measured, a dict with `milliseconds` of each step.

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int; the result is the median.
    """
    keras.config.set_dtype_policy("mixed_bfloat16")
    network = networks.backbone(**sizes, dropout=0.1)
    largest = sizes["max_sequence_length"]
    found = {"unit": "exponent", "values": {}, "milliseconds": {}}
    for name, smallest in _SMALLEST.items():
        if name == "positions":
            smallest = min(smallest, largest // _FACTORS[-1])
        grown = [smallest * factor for factor in _FACTORS]
        times = [
            _milliseconds(network, {**_SMALLEST, name: size}, largest, rounds)
            for size in grown
        ]
        slope, _ = np.polyfit(np.log(grown), np.log(times), 1)
        found["values"][name] = float(slope)
        found["milliseconds"][name] = dict(zip(grown, times))
    return found


def _milliseconds(network, shape, largest, rounds):
    length = min(shape["positions"], largest)
    ids = networks.token_ids(
        *(shape["batch"], shape["candidates"], length),
        vocabulary_size=network.vocabulary_size,
    )
    steps, _ = pretrain.ours(network, ids, num_steps=_STEPS)
    steps()  # with compilation
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        steps()
        seconds.append(time.process_time() - started)
    return round(1000 * statistics.median(seconds) / _STEPS, 1)
