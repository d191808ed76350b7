import importlib.util
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

from gpt1_keras.models import causal_lm
from gpt1_keras.text import tokenizer
from tests.reference import golden
from tests.reference import numpy_gpt1
from tests.reference import released_shards
from tests.reference import small_models

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/convert_openai.py"
# The peak of a process's memory begins with that of the process that started
# it: a small one in between keeps the tests' own out of it.
MEASURED = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
SIZES = {"vocabulary_size": 60, "intermediate_dim": 32, "num_special_tokens": 0}


def load():
    spec = importlib.util.spec_from_file_location("convert_openai", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, str(TOOL), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def folder(tmp_path):
    arrays = small_models.released_arrays(small_models.network(**SIZES))
    stored = released_shards.stored_arrays(arrays, num_positions=12)
    released_shards.write(
        tmp_path / "model", stored, [7, 700, 1501], small_models.byte_pairs()
    )
    return tmp_path / "model"


def test_preset_gives_ids_and_logits(tmp_path, folder):
    done = run(
        tmp_path, "--input", "model", "--preset=new/gpt1", "--num_heads=2"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "new/gpt1: 2320 parameters, 2 layers, 2 heads, width 8, 12 positions, 60 tokens\n"
    )
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["gpt1"]
    model = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "new/gpt1"))
    ids = small_models.byte_pairs().encode("the cat sat.")
    assert model.preprocessor.tokenizer.tokenize("the cat sat.") == ids
    arrays = small_models.released_arrays(small_models.network(**SIZES))
    hidden = numpy_gpt1.hidden_states(
        arrays, [ids], num_positions=12, num_layers=2, num_heads=2
    )
    logits = small_models.read(model(small_models.inputs(np.array([ids]))))
    np.testing.assert_allclose(logits, hidden @ arrays["we"][:60].T, atol=1e-4)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ("", "required: --input, --preset"),
        ("--input model --preset p --layers 3", "--layers"),
        ("--input model --preset p --num_heads two", "--num_heads"),
        ("--input nowhere --preset p", "--input nowhere is not a folder"),
        ("--input model --preset model", "--preset model already exists"),
        ("--input model --preset model/params_0.npy", "already exists"),
        (
            "--input model --preset model/params_0.npy/p --num_heads 2",
            "cannot be written",
        ),
        ("--input model --preset p", "give --num_heads"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path, folder, monkeypatch, capsys, arguments, expected
):
    monkeypatch.chdir(tmp_path)
    assert load().main(arguments.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert expected in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_damaged_input_leaves_nothing(tmp_path, folder, capsys):
    path = folder / "params_3.npy"
    values = np.load(path)
    values[-1] = np.nan
    np.save(path, values)
    preset = tmp_path / "p"
    assert (
        load().main(
            ["--input", str(folder), "--preset", str(preset), "--num_heads=2"]
        )
        == 2
    )
    assert "h1/ln_2/b contains NaN or infinity" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_full_disk_is_told_in_one_line_and_leaves_nothing(
    tmp_path, folder, monkeypatch, capsys
):
    def save(self, directory):
        pathlib.Path(directory).mkdir()
        (pathlib.Path(directory) / "model.weights.h5").write_text("torn")
        # As h5py words it.
        raise OSError("Can't write data (time = Sat Nov 21\n, errno = 28)")

    monkeypatch.setattr(causal_lm.GPT1CausalLM, "save_to_preset", save)
    preset = tmp_path / "p"
    arguments = ["--input", folder, "--preset", preset, "--num_heads", 2]
    assert load().main([str(each) for each in arguments]) == 2
    assert capsys.readouterr().err == (
        f"error: --preset {preset} cannot be written (Can't write data (time ="
        " Sat Nov 21)\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_help(capsys):
    with pytest.raises(SystemExit) as raised:
        load().main(["--help"])
    assert raised.value.code == 0
    assert (
        "python tools/convert_openai.py --input DIR" in capsys.readouterr().out
    )


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
        [sys.executable, "-c", MEASURED, TOOL, *arguments],
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
