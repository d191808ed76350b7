"""The dtype that a run computes in, and which one 'auto' stands for."""

import contextlib
import pathlib
import re

import keras
from absl import logging

from gpt1_keras import device
from gpt1_keras import errors

_CPU_INFO = pathlib.Path("/proc/cpuinfo")
_CPU_FLAGS = ("amx_bf16", "avx512_bf16")
_CAPABILITY = (8, 0)  # of the first GPUs by NVIDIA that have bfloat16


def set_dtype(dtype):
    """Make `dtype` the policy of all layers built afterwards."""
    keras.config.set_dtype_policy(dtype)
    round_factors(dtype)
    why = dtype != "float32" and _why_bfloat16()
    reason = f": fast with {why}" if why else ""
    logging.info("computing in %s%s", dtype, reason)


def round_factors(dtype):
    """Allow TensorFloat-32 in mixed_bfloat16, and forbid it in other dtypes.

    With it, GPUs round the factors of float32 products to 11 bits, by default
    on JAX and TensorFlow, not on torch. After 6 steps on an H200, JAX's weights
    differ from the released code's by 6e-3 with it, 8e-6 without (RESULTS.md).
    """
    is_rounded = dtype == "mixed_bfloat16"
    is_jax = keras.config.backend() == "jax"
    _rounding((None if is_rounded else "highest") if is_jax else is_rounded)


def _rounding(*new):
    """Set the backend's own value, if one is given; return the former one."""
    if keras.config.backend() == "jax":
        import jax

        before = jax.config.jax_default_matmul_precision
        for value in new:
            jax.config.update("jax_default_matmul_precision", value)
        return before
    if keras.config.backend() == "tensorflow":
        from tensorflow import config

        before = config.experimental.tensor_float_32_execution_enabled()
        for value in new:
            config.experimental.enable_tensor_float_32_execution(value)
        return before
    return None


@contextlib.contextmanager
def restored():
    """Restore dtype policy and rounding at the end of the block."""
    policy, rounding = keras.config.dtype_policy(), _rounding()
    try:
        yield
    finally:
        keras.config.set_dtype_policy(policy)
        _rounding(rounding)


def check_float(model):
    """Refuse to write a model whose kernels are integers."""
    if any(layer.quantization_mode for layer in model._flatten_layers()):
        raise errors.InputError(
            "the model is quantized: load it in float32 to write it"
        )


def fastest():
    """Return the dtype policy in which this machine trains fastest."""
    # Learning curves in both agree (docs/log.md).
    return "mixed_bfloat16" if _why_bfloat16() else "float32"


def _why_bfloat16():
    """Return what makes bfloat16 fast on this machine, None if nothing does."""
    kind = device.kind()
    if kind == "cpu":
        flags = _CPU_INFO.read_text().split() if _CPU_INFO.exists() else ()
        # On JAX, XLA is slower in bfloat16, whatever the instructions.
        known = () if keras.config.backend() == "jax" else _CPU_FLAGS
        return next((f"this CPU's {f}" for f in known if f in flags), None)
    if kind == "gpu" and _capability() < _CAPABILITY:
        return None
    return f"this {kind.upper()}"


def _capability():
    """Return the lowest compute capability of the GPUs, as far as known."""
    if keras.config.backend() == "torch":
        import torch

        count = torch.cuda.device_count()
        return min(map(torch.cuda.get_device_capability, range(count)))
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        details = tf.config.experimental.get_device_details
        gpus = map(details, tf.config.list_physical_devices("GPU"))
        return min(g.get("compute_capability", _CAPABILITY) for g in gpus)
    import jax

    # Such as "7.5"; AMD GPUs give a name.
    texts = [str(gpu.compute_capability) for gpu in jax.devices("gpu")]
    found = [re.fullmatch(r"(\d+)\.(\d+)", text) for text in texts]
    return min(tuple(map(int, f.groups())) if f else _CAPABILITY for f in found)
