"""Peak speed of matrix products on this machine, measured once and cached.

Runs log their speed as a share of this peak. `tools/benchmark.py --section
peak` measures it; the machine should be idle meanwhile.
"""

import json
import platform
import time

import keras
from keras import ops

from gpt1_keras import files

_SIZE = 4096
_PRODUCTS = 4  # queued per timing, so that a GPU never idles


def measure(dtype, *, rounds):
    """Measure, cache and return the peak GFLOP/s in `dtype`."""
    x = keras.random.normal((_SIZE, _SIZE), dtype=dtype, seed=0)
    seconds = []
    for _ in range(rounds + 1):  # the first one compiles
        started = time.perf_counter()
        products = [ops.matmul(x, x) for _ in range(_PRODUCTS)]
        for product in products:
            float(ops.cast(product[0, 0], "float32"))  # waits for the result
        seconds.append(time.perf_counter() - started)
    speed = _PRODUCTS * 2 * _SIZE**3 / min(seconds) / 1e9
    known = _read() | {_key(dtype): speed}
    files.write_atomic(_path(), json.dumps(known, indent=1) + "\n")
    return speed


def read(dtype):
    """Return the cached peak GFLOP/s of this machine in `dtype`, or None."""
    speed = _read().get(_key(dtype))
    return speed if isinstance(speed, float) and speed > 0 else None


def _read():
    try:
        return files.parse_json(_path().read_bytes())
    except (OSError, ValueError):  # missing or damaged
        return {}


def _path():
    return files.cache_root() / "peak.json"


def _key(dtype):
    device = str(ops.convert_to_tensor(0.0).device)
    return f"{platform.node()} {keras.backend.backend()} {device} {dtype}"
