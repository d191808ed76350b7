"""Peak host memory of two pretraining steps of 8 sequences, in GB.

Ours (bfloat16) by sequences per forward pass, and transformers' network with
all at once. Each is a process of its own; its libraries are counted.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from tools.benchmarks import networks
from tools.benchmarks import pretrain

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_BATCH_SIZE, _STEPS = 8, 2
_PEER = "transformers"


def measure(*, sizes, rounds):
    """Return what was measured, a dict with `ratios` to the last of ours.

    Args:
        sizes: dict of the backbone's arguments (`networks.sizes`).
        rounds: not used: a process needs the same memory again.
    """
    del rounds
    values = {str(size): _peak(str(size), sizes) for size in (1, 2, 4, 8)}
    ratios = {kind: peak / values["8"] for kind, peak in values.items()}
    if networks.has_transformers():
        values[_PEER] = _peak(_PEER, sizes)
        ratios[_PEER] = values[_PEER] / values["8"]
    return {"unit": "GB", "values": values, "ratios": ratios}


def _peak(kind, sizes):
    """Return the peak of a process that calls `_run` with these arguments."""
    code = "import sys; from tools.benchmarks import memory; memory.run()"
    done = subprocess.run(
        [sys.executable, "-c", code, kind, json.dumps(sizes)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(done.stdout.split()[-1])


def run():
    """Run the steps that the process's arguments name; print their peak."""
    kind, sizes = sys.argv[1], json.loads(sys.argv[2])
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
    # Linux; `ru_maxrss` would begin with the peak of the parent process.
    status = pathlib.Path("/proc/self/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    print(int(peak) * 1024 / 1e9)
