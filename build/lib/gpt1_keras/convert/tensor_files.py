"""Tensors of a Hugging Face folder, loaded one at a time as numpy arrays."""

import functools
import json

import ml_dtypes  # noqa: F401, registers bfloat16 with numpy
import numpy as np
import safetensors

from gpt1_keras import errors

SAFETENSORS = "model.safetensors"
INDEX = "model.safetensors.index.json"
PICKLE = "pytorch_model.bin"
_FLOATS = ("F64", "F32", "F16", "BF16")


def find(directory):
    """Return `{name: function that returns the float32 array}`.

    Reads `model.safetensors`, or else the files that
    `model.safetensors.index.json` names, or else `pytorch_model.bin`, of which
    torch loads tensors only and runs no code. Missing and damaged files are
    InputErrors, of the functions too.
    """
    if (directory / SAFETENSORS).is_file():
        return _of_safetensors(directory / SAFETENSORS)
    if (directory / INDEX).is_file():
        return _of_index(directory / INDEX)
    if (directory / PICKLE).is_file():
        return _of_pickle(directory / PICKLE)
    raise errors.InputError(
        f"{directory} has no {SAFETENSORS}, {INDEX} or {PICKLE}: give the "
        "folder of a model"
    )


def _of_safetensors(path):
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            names = list(file.keys())
    except (safetensors.SafetensorError, OSError) as error:
        raise errors.InputError(
            f"{path} cannot be read ({_line(error)}): download it again"
        ) from None
    return {name: functools.partial(_load, path, name) for name in names}


def _load(path, name):
    with safetensors.safe_open(path, framework="numpy") as file:
        dtype = file.get_slice(name).get_dtype()
        if dtype not in _FLOATS:
            raise errors.InputError(
                f"{path}: {name} is {dtype}, expected one of "
                f"{', '.join(_FLOATS)}: quantized weights are not supported"
            )
        return np.asarray(file.get_tensor(name), np.float32)


def _of_index(path):
    try:
        files = json.loads(path.read_bytes())["weight_map"]
        names = sorted(set(files.values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise errors.InputError(
            f"{path} has no weight_map from tensors to files: download it again"
        ) from None
    tensors = {}
    for name in names:
        shard = path.parent / name
        if shard.parent != path.parent or not shard.is_file():
            raise errors.InputError(
                f"{shard} is missing, but {INDEX} names it: download it too"
            )
        tensors |= _of_safetensors(shard)
    return tensors


def _of_pickle(path):
    try:
        import torch
    except ImportError:
        raise errors.InputError(
            f"{path} needs torch: pip install torch, or download {SAFETENSORS}"
        ) from None
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever its parts raise
        raise errors.InputError(
            f"{path} is damaged or holds more than tensors "
            f"({_line(error)[:80]}): download {SAFETENSORS}"
        ) from None
    if not isinstance(tensors, dict) or not all(
        isinstance(value, torch.Tensor) for value in tensors.values()
    ):
        raise errors.InputError(
            f"{path} is not a dict of tensors: save model.state_dict()"
        )
    return {
        name: lambda value=value: value.detach().float().numpy()
        for name, value in tensors.items()
    }


def _line(error):
    return str(error).strip().split("\n")[0]
