"""From the shell to the first step of `gin/model/tiny.gin`, on each backend.

CPU seconds until the first line of `metrics.jsonl`; they depend less on other
work of the machine than the `wall` time. The sample corpus is prepared before.
"""

import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_BACKENDS = ("tensorflow", "jax", "torch")
_RUN = """-m gpt1_keras.main --gin gin/pretrain.gin --gin gin/model/tiny.gin
--gin gin/data/sample.gin --set fit.Intervals.log_steps=1""".split()
_LONGEST = 600.0  # seconds


def measure(*, sizes, rounds):
    """Return what was measured, a dict.

    Args:
        sizes: not used: the network is the one of `gin/model/tiny.gin`.
        rounds: int. Starts of each backend, after one that is not counted.
    """
    del sizes
    found = {"unit": "CPU seconds", "values": {}, "wall": {}}
    with tempfile.TemporaryDirectory() as directory:
        for backend in filter(importlib.util.find_spec, _BACKENDS):
            starts = [
                _start(backend, pathlib.Path(directory), number)
                for number in range(rounds + 1)
            ]
            # The first one prepares the corpus and fills caches.
            wall, cpu = map(statistics.median, zip(*starts[1:]))
            found["values"][backend] = cpu
            found["wall"][backend] = round(wall, 1)
    return found


def _start(backend, directory, number):
    """Return wall and CPU seconds until the first step is recorded."""
    workdir = directory / f"{backend}_{number}"
    started, before = time.monotonic(), os.times()
    places = {"GPT1_KERAS_CACHE": str(directory / "cache")}
    process = subprocess.Popen(
        [sys.executable, *_RUN, "--workdir", str(workdir)],
        cwd=_ROOT,
        env=os.environ | places | {"KERAS_BACKEND": backend},
        stderr=subprocess.DEVNULL,
    )
    try:
        metrics = workdir / "metrics.jsonl"
        while not metrics.exists() or not metrics.stat().st_size:
            wall = time.monotonic() - started
            if process.poll() is not None or wall > _LONGEST:
                raise RuntimeError(f"{backend}: no first step in {wall:.0f} s")
            time.sleep(0.05)
        wall = time.monotonic() - started
    finally:
        process.kill()
        process.wait()
    after = os.times()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system
