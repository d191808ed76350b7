import json
import pickle
import sys

import ml_dtypes
import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from gpt1_keras import errors
from gpt1_keras.convert import tensor_files

VALUES = {
    "a": np.array([[1.5, -2.0], [0.25, 3.0]], "float32"),
    "b": np.array([7.0], "float32"),
}


def save(path, **tensors):
    safetensors_numpy.save_file(tensors or VALUES, path)


def write_index(folder, **files):
    content = json.dumps({"weight_map": files})
    (folder / "model.safetensors.index.json").write_text(content)


def check(folder):
    found = tensor_files.find(folder)
    assert found.keys() == VALUES.keys()
    for name, value in VALUES.items():
        array = found[name]()
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, value)


def refuse(folder, expected):
    with pytest.raises(errors.InputError, match=expected) as raised:
        tensor_files.find(folder)
    assert "\n" not in str(raised.value)
    assert str(folder) in str(raised.value)


def test_one_file(tmp_path):
    save(tmp_path / "model.safetensors")
    check(tmp_path)


def test_several_files(tmp_path):
    save(tmp_path / "one.safetensors", a=VALUES["a"])
    save(tmp_path / "two.safetensors", b=VALUES["b"])
    write_index(tmp_path, a="one.safetensors", b="two.safetensors")
    check(tmp_path)


# The values above have few digits, so that no type rounds them.
@pytest.mark.parametrize("dtype", ["float64", "float16", ml_dtypes.bfloat16])
def test_other_floats(tmp_path, dtype):
    tensors = {name: value.astype(dtype) for name, value in VALUES.items()}
    save(tmp_path / "model.safetensors", **tensors)
    check(tmp_path)


def test_quantized(tmp_path):
    save(tmp_path / "model.safetensors", a=np.ones(3, "int8"))
    with pytest.raises(errors.InputError, match="a is I8, expected one of F64"):
        tensor_files.find(tmp_path)["a"]()


@pytest.mark.parametrize("zipped", [True, False])
def test_pickle_of_torch(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    state = {name: torch.tensor(x) for name, x in VALUES.items()}
    state["b"] = state["b"].bfloat16()
    path = tmp_path / "pytorch_model.bin"
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
    check(tmp_path)


def test_safetensors_come_first(tmp_path):
    save(tmp_path / "model.safetensors")
    (tmp_path / "pytorch_model.bin").write_bytes(b"not read")
    check(tmp_path)


# --- mistakes ----------------------------------------------------------------


def test_nothing_there(tmp_path):
    refuse(
        tmp_path, "has no model.safetensors, model.safetensors.index.json or"
    )


def test_cut_short(tmp_path):
    path = tmp_path / "model.safetensors"
    save(path)
    path.write_bytes(path.read_bytes()[:-1])
    refuse(tmp_path, r"model\.safetensors cannot be read")


@pytest.mark.parametrize("name", ["two.safetensors", "../two.safetensors"])
def test_index_names_a_file_that_is_not_there(tmp_path, name):
    folder = tmp_path / "model"
    folder.mkdir()
    save(folder / "one.safetensors")
    # Not in the folder itself, hence of no concern.
    save(tmp_path / "two.safetensors")
    write_index(folder, a="one.safetensors", b=name)
    refuse(folder, r"two\.safetensors is missing")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"weight_map": 3}'])
def test_index_without_names(tmp_path, content):
    (tmp_path / "model.safetensors.index.json").write_text(content)
    refuse(tmp_path, "has no weight_map")


def test_pickle_of_something_else(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": 3}, tmp_path / "pytorch_model.bin")
    refuse(tmp_path, "is not a dict of tensors")


class Harmful:
    def __reduce__(self):
        return (open, ("made_by_the_pickle", "w"))


def test_pickle_runs_nothing(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harmful()}))
    refuse(tmp_path, "pytorch_model.bin is damaged or holds more than tensors")
    assert not (tmp_path / "made_by_the_pickle").exists()


def test_pickle_without_torch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    refuse(tmp_path, "needs torch to be read: pip install torch, or get")
