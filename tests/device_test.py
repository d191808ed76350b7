import sys
import types

import keras
import pytest

from gpt1_keras import device
from gpt1_keras import errors
from gpt1_keras import main


@pytest.mark.parametrize("error", (RuntimeError, AssertionError))
def test_jax_platforms_that_are_not_there(monkeypatch, capsys, error):
    def fail():
        raise error("no cuda")

    jax = types.SimpleNamespace(default_backend=fail)
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    with pytest.raises(error, match="no cuda"):
        device.kind()
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert main.main(["--gin", "gin/pretrain.gin"]) == 2
    assert "error: JAX_PLATFORMS=cuda" in capsys.readouterr().err
    with pytest.raises(errors.InputError, match="JAX_PLATFORMS=cuda: JAX find"):
        device.kind()
