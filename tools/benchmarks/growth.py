"""How CPU time and memory grow with the size of the work: fitted exponents.

An exponent of 1 means that twice the size takes twice as much. It is lower if
some of it does not depend on the size, and higher for attention over long
sequences. Measured are pretraining steps in bfloat16, and the preparation of a
corpus. Memory is what the peak exceeds the one before the first step by, or,
for a corpus, the one before its first book.
"""

import os
import pathlib
import statistics
import tempfile
import time

import numpy as np

from tools.benchmarks import networks
from tools.benchmarks import pretrain
from tools.benchmarks import process

_STEPS = 4
_SMALLEST = {"sequences": 4, "candidates": 1, "positions": 128, "replicas": 1}
_FACTORS = (1, 2, 4)
_WORDS = 2_000_000


def measure(*, sizes, rounds):
    """Return what was measured, a dict with `milliseconds` and `gigabytes`.

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: int; the time of a step is the median.
    """
    found = {"unit": "exponent", "values": {}}
    found |= {"milliseconds": {}, "gigabytes": {}}
    for name in (*_SMALLEST, "words"):
        smallest = {**_SMALLEST, "words": _WORDS}[name]
        if name == "positions":
            longest = sizes["max_sequence_length"]
            smallest = min(smallest, longest // _FACTORS[-1])
        grown = [smallest * factor for factor in _FACTORS]
        runs = [
            process.call(
                __name__,
                "run",
                sizes=sizes,
                rounds=rounds,
                name=name,
                size=size,
            )
            for size in grown
        ]
        for quantity in ("milliseconds", "gigabytes"):
            used = [run[quantity] for run in runs]
            found[quantity][name] = dict(zip(grown, used))
            label = name if quantity == "milliseconds" else f"{name}, memory"
            found["values"][label] = _exponent(grown, used)
    return found


def _exponent(sizes, used):
    """Return the slope on logarithmic axes; 0 where nothing is used."""
    slope, _ = np.polyfit(np.log(sizes), np.log(np.maximum(used, 1e-3)), 1)
    return round(float(slope), 3)


def run(*, sizes, rounds, name, size):
    """Return the milliseconds and gigabytes of one size."""
    if name == "words":
        return _preparation(size)
    return _steps(sizes, rounds, _SMALLEST | {name: size})


def _steps(sizes, rounds, shape):
    import keras

    from gpt1_keras.training import strategy as strategy_lib

    strategy = strategy_lib.ONE_DEVICE
    if shape["replicas"] > 1:
        kinds = {"tensorflow": "mirrored", "jax": "data_parallel"}
        strategy = strategy_lib.Devices(
            strategy_name=kinds[keras.config.backend()],
            num_replicas=shape["replicas"],
        ).open()
    keras.config.set_dtype_policy("mixed_bfloat16")
    length = min(shape["positions"], sizes["max_sequence_length"])
    ids = networks.token_ids(
        *(shape["sequences"], shape["candidates"], length),
        vocabulary_size=sizes["vocabulary_size"],
    )
    with strategy.scope():
        network = networks.backbone(**sizes, dropout=0.1)
        steps, _ = pretrain.ours(network, ids, num_steps=_STEPS)
    before = process.peak()
    steps()  # with compilation
    seconds = [_processor_seconds(steps) for _ in range(rounds)]
    return {
        "milliseconds": round(1000 * statistics.median(seconds) / _STEPS, 1),
        "gigabytes": round(process.peak() - before, 3),
    }


def _preparation(words):
    """Prepare generated books of so many words."""
    from gpt1_keras.data import prepare
    from gpt1_keras.sample_world import corpus

    recipe = prepare.Recipe(networks.tokenizer())
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        books = corpus.write_corpus(folder / "books", words=words)
        before = process.peak()
        seconds = _processor_seconds(
            lambda: prepare.prepare(books, folder / "shards", recipe)
        )
    return {
        "milliseconds": round(1000 * seconds, 1),
        "gigabytes": round(process.peak() - before, 3),
    }


def _processor_seconds(call):
    """Return the CPU time of a call, that of ended child processes included."""

    def spent():
        times = os.times()  # in hundredths of a second
        return time.process_time() + times.children_user + times.children_system

    before = spent()
    call()
    return spent() - before
