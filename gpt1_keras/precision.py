"""The dtype that a run computes in, and which one 'auto' stands for."""

import pathlib

import keras
from absl import logging

from gpt1_keras import checks

_CPU_INFO = pathlib.Path("/proc/cpuinfo")
_CPU_FLAGS = ("amx_bf16", "avx512_bf16")
_CAPABILITY = (8, 0)  # of the first GPUs by NVIDIA that have bfloat16


def set_dtype(dtype):
    """Make `dtype` the policy of all layers built afterwards."""
    checks.check("dtype", dtype, checks.Dtype)
    keras.config.set_dtype_policy(dtype)
    why = dtype != "float32" and _why_bfloat16()
    logging.info(
        "computing in %s%s", dtype, f": fast with {why}" if why else ""
    )


def fastest():
    """Return the dtype policy in which this machine trains fastest.

    Learning curves in both agree (docs/log.md).
    """
    return "mixed_bfloat16" if _why_bfloat16() else "float32"


def _why_bfloat16():
    """Return what makes bfloat16 fast on this machine, None if nothing."""
    backend = keras.config.backend()
    if backend == "jax":
        import jax

        kind = jax.default_backend()
        # On a CPU, XLA is slower in bfloat16, whatever the instructions.
        return None if kind == "cpu" else f"this {kind.upper()}"
    if backend == "torch":
        import torch

        gpus = torch.cuda.is_available() and [
            torch.cuda.get_device_capability()
        ]
    else:
        import tensorflow as tf

        if tf.config.list_physical_devices("TPU"):
            return "this TPU"
        gpus = [
            tf.config.experimental.get_device_details(gpu).get(
                "compute_capability", _CAPABILITY
            )
            for gpu in tf.config.list_physical_devices("GPU")
        ]
    if gpus:
        return "this GPU" if min(gpus) >= _CAPABILITY else None
    flags = _CPU_INFO.read_text().split() if _CPU_INFO.exists() else ()
    return next((f"this CPU's {f}" for f in _CPU_FLAGS if f in flags), None)
