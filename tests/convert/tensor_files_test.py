import pickle

import ml_dtypes
import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from gpt1_keras import errors
from gpt1_keras.convert import huggingface

# Values of few digits, so that no dtype rounds them.
VALUES = {
    "a": np.array([[1.5, -2.0], [0.25, 3.0]], "float32"),
    "b": np.array([7.0], "float32"),
}


def check(folder):
    found = huggingface.find_tensors(folder)
    arrays = {name: read() for name, read in found.items()}
    assert {array.dtype.name for array in arrays.values()} == {"float32"}
    np.testing.assert_equal(arrays, VALUES)


def refuse(folder, expected):
    with pytest.raises(errors.InputError, match=f"{folder}.*{expected}"):
        huggingface.find_tensors(folder)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", ml_dtypes.bfloat16]
)
def test_one_file_comes_first(tmp_path, dtype):
    safetensors_numpy.save_file(
        {name: value.astype(dtype) for name, value in VALUES.items()},
        tmp_path / "model.safetensors",
    )
    (tmp_path / "pytorch_model.bin").write_bytes(b"not read")
    check(tmp_path)


@pytest.mark.parametrize("zipped", [True, False])
def test_pickle_of_torch(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    state = {name: torch.tensor(x) for name, x in VALUES.items()}
    state["b"] = state["b"].bfloat16()
    path = tmp_path / "pytorch_model.bin"
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
    check(tmp_path)


class Harmful:
    def __reduce__(self):
        return (open, ("made_by_the_pickle", "w"))


def test_pickle_runs_nothing_and_is_a_dict_of_tensors(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harmful()}))
    refuse(tmp_path, "pytorch_model.bin is damaged or holds more than tensors")
    assert not (tmp_path / "made_by_the_pickle").exists()
    torch.save({"a": 3}, tmp_path / "pytorch_model.bin")
    refuse(tmp_path, "is not a dict of tensors")
