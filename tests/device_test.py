import keras
import pytest

from gpt1_keras import device
from gpt1_keras import errors
from gpt1_keras import main


@pytest.mark.parametrize("backend, variable", device.VARIABLES.items())
@pytest.mark.parametrize("error", (RuntimeError, AssertionError))
def test_a_device_that_is_not_there(
    monkeypatch, capsys, backend, variable, error
):
    def fail(shape):
        raise error("no cuda")

    monkeypatch.setattr(keras.ops, "zeros", fail)
    monkeypatch.setattr(keras.config, "backend", lambda: backend)
    for name in device.VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    device.check()
    monkeypatch.setenv(variable, "cuda")
    with pytest.raises(errors.InputError, match=f"^{variable}=cuda: this mac"):
        device.check()
    assert main.main(["--gin", "gin/pretrain.gin"]) == 2
    assert f"error: {variable}=cuda" in capsys.readouterr().err
