"""Billions of operations per second in square matrix products.

The limit of any training step in the same precision. Later runs show their
speed as a share of it (`gpt1_keras.training.peak`).
"""


def measure(*, sizes, rounds):
    """Return what was measured, a dict with the `values` in GFLOP/s.

    Args:
        sizes: not used: all matrices are of one size.
        rounds: int. The fastest counts.
    """
    del sizes
    from gpt1_keras.training import peak

    speeds = {
        dtype: peak.measure(dtype, rounds=rounds)
        for dtype in ("bfloat16", "float32")
    }
    return {"unit": "GFLOP/s", "values": speeds}
