import types

import keras
import pytest

from gpt1_keras import precision

BACKEND = keras.config.backend()


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a function that sets the flags of the CPU and a GPU's version."""

    def change(flags, capability=None):
        (tmp_path / "cpuinfo").write_text(f"flags\t: fpu {flags} sse\n")
        monkeypatch.setattr(precision, "_CPU_INFO", tmp_path / "cpuinfo")
        gpus = ["a GPU"] if capability else []
        if BACKEND == "tensorflow":
            import tensorflow as tf

            there = {"GPU": gpus, "TPU": []}
            monkeypatch.setattr(tf.config, "list_physical_devices", there.get)
            found = {"compute_capability": capability}
            place = tf.config.experimental
            monkeypatch.setattr(place, "get_device_details", lambda _: found)
        elif BACKEND == "jax":
            import jax

            kind = "gpu" if gpus else "cpu"
            monkeypatch.setattr(jax, "default_backend", lambda: kind)
            name = ".".join(map(str, capability)) if gpus else ""
            gpus = [types.SimpleNamespace(compute_capability=name)]
            monkeypatch.setattr(jax, "devices", lambda kind: gpus)
        else:
            import torch
            from keras.src.backend.torch import core

            # A GPU that is there need not be used (KERAS_TORCH_DEVICE).
            used = "cuda" if gpus else "cpu"
            monkeypatch.setattr(core, "DEFAULT_DEVICE", used)
            cuda = {"is_available": True, "device_count": 1}
            cuda["get_device_capability"] = capability
            for name, found in cuda.items():
                monkeypatch.setattr(torch.cuda, name, lambda *_, x=found: x)

    return change


def rounds_factors():
    """Return whether a GPU would round the factors of float32 products."""
    if BACKEND == "jax":
        import jax

        return jax.config.jax_default_matmul_precision is None
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return tf.config.experimental.tensor_float_32_execution_enabled()
    import torch

    return torch.get_float32_matmul_precision() != "highest"


def test_bfloat16_where_it_is_fast(machine, monkeypatch):
    bfloat16, float32 = "mixed_bfloat16", "float32"
    is_jax = BACKEND == "jax"
    for flags, capability, expected in (
        ("avx512f avx512_bf16", None, float32 if is_jax else bfloat16),
        ("amx_bf16 avx512_bf16", None, float32 if is_jax else bfloat16),
        ("avx2 avx512f", None, float32),
        ("", (8, 0), bfloat16),
        ("", (9, 0), bfloat16),
        ("avx512_bf16", (7, 5), float32),
    ):
        machine(flags, capability)
        assert precision.fastest() == expected, (flags, capability)
    machine("")
    monkeypatch.setattr(precision, "_CPU_INFO", precision._CPU_INFO / "none")
    assert precision.fastest() == float32


@pytest.mark.usefixtures("set_dtype")
def test_the_log_says_which_and_why(machine, caplog):
    for flags, dtype, why in (
        ("amx_bf16", "mixed_bfloat16", ": fast with this CPU"),
        ("", "mixed_bfloat16", ""),
        ("amx_bf16", "float32", ""),
    ):
        machine(flags)
        with caplog.at_level("INFO", logger="absl"):
            caplog.clear()
            precision.set_dtype(dtype)
        expected = f"computing in {dtype}{'' if BACKEND == 'jax' else why}"
        assert caplog.messages[0].startswith(expected)
        assert keras.config.dtype_policy().name == dtype
        assert rounds_factors() == (BACKEND != "torch" and dtype != "float32")


def test_restored():
    def state():
        return keras.config.dtype_policy().name, rounds_factors()

    before = state()
    with precision.restored():
        for dtype in ("mixed_bfloat16", "float32"):
            precision.set_dtype(dtype)
        assert state() == ("float32", False)
        precision.round_factors("int8")
        assert not rounds_factors()
        precision.set_dtype("mixed_bfloat16")
    assert state() == before
