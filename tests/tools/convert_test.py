"""Presets from and to the formats of others, through the tools."""

import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors

from gpt1_keras.convert import huggingface
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.text import tokenizer
from tests.reference import golden
from tests.reference import numpy_gpt1
from tests.reference import released_shards
from tests.reference import small_models
from tools import convert_huggingface
from tools import convert_openai

SIZES = "2 layers, 2 heads, width 8, 12 positions, 60 tokens\n"
# The peak of a process's memory begins with that of the process that started
# it: a small one in between keeps the tests' own out of it.
MEASURED = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def run(folder, tool, *arguments):
    """Return what a tool prints, called in another folder."""
    done = subprocess.run(
        [sys.executable, tool.__file__, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def modes(folder):
    return {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}


def test_openai(tmp_path):
    arrays = released_shards.write_small(tmp_path / "model")
    arguments = ("--input", "model", "--preset=new/gpt1", "--num_heads=2")
    printed = run(tmp_path, convert_openai, *arguments)
    assert printed == f"new/gpt1: 2320 parameters, {SIZES}"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["gpt1"]
    model = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "new/gpt1"))
    ids = small_models.byte_pairs().encode("the cat sat.")
    assert model.preprocessor.tokenizer.tokenize("the cat sat.") == ids
    hidden = numpy_gpt1.hidden_states(
        arrays, [ids], num_positions=12, num_layers=2, num_heads=2
    )
    logits = small_models.read(model(small_models.inputs(np.array([ids]))))
    np.testing.assert_allclose(logits, hidden @ arrays["we"][:60].T, atol=1e-4)


@pytest.fixture(scope="module")
def model():
    network = small_models.network(vocabulary_size=60, intermediate_dim=32)
    return builders.gpt1_causal_lm(network, small_models.byte_pairs())


def test_huggingface_out_and_in(tmp_path, model, monkeypatch, capsys):
    presets.save(model, tmp_path / "preset")
    monkeypatch.chdir(tmp_path)
    out = ["--preset=preset", "--output=new/folder"]
    assert convert_huggingface.main(out) == 0
    # The rows of special tokens are not part of a language model.
    said = capsys.readouterr().out
    assert said == f"new/folder: 2344 parameters, {SIZES}"
    printed = run(
        tmp_path, convert_huggingface, "--input=new/folder", "--preset=again"
    )
    assert printed == f"again: 2320 parameters, {SIZES}"
    assert {path.name for path in (tmp_path / "new/folder").iterdir()} == {
        *("config.json", "merges.txt", "model.safetensors", "vocab.json"),
        *("special_tokens_map.json", "tokenizer_config.json"),
    }
    # safetensors writes for the owner alone; a model is for others.
    assert modes(tmp_path / "new/folder") == {"0o644"}
    assert modes(tmp_path / "again") <= {"0o644", "0o755"}
    again = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "again"))
    assert again.backbone.num_special_tokens == 0
    inputs = small_models.inputs(small_models.token_ids(2, 12, below=60))
    np.testing.assert_array_equal(
        small_models.read(again(inputs)), small_models.read(model(inputs))
    )
    expected = small_models.byte_pairs().encode("the cat.")
    assert again.preprocessor.tokenizer.tokenize("the cat.") == expected


def test_failures_are_one_line_and_leave_nothing(
    tmp_path, model, monkeypatch, capsys
):
    presets.save(model, tmp_path / "preset")
    released_shards.write_small(tmp_path / "model")

    def refuse(tool, reason, **arguments):
        options = [f"--{k}={tmp_path / v}" for k, v in arguments.items()]
        if tool is convert_openai:
            options.append("--num_heads=2")
        assert tool.main(options) == 2
        told = capsys.readouterr().err
        assert told.startswith("error: ") and told.count("\n") == 1
        assert reason in told
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"preset", "model"}

    below = "preset/config.json/below"
    refuse(convert_huggingface, "be written (", preset="preset", output=below)

    # A full disk, as safetensors and h5py word it.
    def save_file(tensors, path, metadata):
        path.write_text("torn")
        raise safetensors.SafetensorError("I/O error: No space left")

    monkeypatch.setattr(huggingface.safetensors_numpy, "save_file", save_file)
    reason = "o cannot be written (I/O error: No space left)\n"
    refuse(convert_huggingface, reason, preset="preset", output="o")

    def save(self, directory):
        pathlib.Path(directory).mkdir()
        (pathlib.Path(directory) / "model.weights.h5").write_text("torn")
        raise OSError("Can't write data (time = Sat Nov 21\n, errno = 28)")

    with monkeypatch.context() as context:
        context.setattr(causal_lm.GPT1CausalLM, "save_to_preset", save)
        reason = "p cannot be written (Can't write data (time = Sat Nov 21)\n"
        refuse(convert_openai, reason, input="model", preset="p")
    path = tmp_path / "model/params_3.npy"
    values = np.load(path)
    values[-1] = np.nan
    np.save(path, values)
    reason = "h1/ln_2/b contains NaN or infinity"
    refuse(convert_openai, reason, input="model", preset="p")


@pytest.mark.slow
@pytest.mark.needs_data
def test_released_size(tmp_path, shared_file):
    vocabulary = shared_file("data/gpt1_vocab/encoder_bpe_40000.json")
    merges = shared_file("data/gpt1_vocab/vocab_40000.bpe")
    shapes = json.loads(
        shared_file("data/gpt1_vocab/params_shapes.json").read_text()
    )
    stored = released_shards.random_arrays(shapes)
    total = sum(array.size for array in stored)
    assert total == 116_534_784
    ends = [total // 10 * i + i for i in range(1, 10)]
    words = tokenizer.Tokenizer.from_files(vocabulary, merges)
    released_shards.write(tmp_path / "model", stored, ends, words)

    start = time.monotonic()
    arguments = ["--input", "model", "--preset", "preset"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, convert_openai.__file__, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    peak = int(done.stdout.split()[-1]) * 1024
    seconds = time.monotonic() - start
    print(f"{seconds:.1f} s, peak memory {peak / 1e9:.2f} GB")
    # Twice the weights, and what the frameworks and spaCy need by themselves.
    assert peak < 2 * 4 * total + 1.5e9

    model = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "preset"))
    assert model.count_params() == total
    ids = model.preprocessor.tokenizer.tokenize(
        "The president is a very good man."
    )
    assert ids == [481, 4735, 544, 246, 963, 870, 762, 239]
    arrays = {"we": np.concatenate([stored[1], stored[0]])}
    names = [f"h{i}/{name}" for i in range(12) for name in golden.BLOCK_NAMES]
    for name, value in zip(names, stored[2:], strict=True):
        # [1, A, B] -> [A, B]
        arrays[name] = value.reshape(value.shape[-2:])
    hidden = numpy_gpt1.hidden_states(
        arrays, [ids], num_positions=512, num_layers=12, num_heads=12
    )
    expected = hidden @ stored[1].astype("float64").T
    logits = small_models.read(model(small_models.inputs(np.array([ids]))))
    worst = np.abs(logits - expected).max()
    print(f"largest logit {np.abs(expected).max():.2f}, difference {worst:.1e}")
    assert worst < 1e-3
