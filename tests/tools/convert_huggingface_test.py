import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import safetensors

from gpt1_keras.convert import huggingface
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from tests.reference import small_models

TOOL = (
    pathlib.Path(__file__).resolve().parents[2] / "tools/convert_huggingface.py"
)
SIZES = {"vocabulary_size": 60, "intermediate_dim": 32}


def load():
    spec = importlib.util.spec_from_file_location("convert_huggingface", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def model():
    return builders.gpt1_causal_lm(
        small_models.network(**SIZES), small_models.byte_pairs()
    )


@pytest.fixture
def preset(tmp_path, model):
    presets.save(model, tmp_path / "preset")
    return tmp_path / "preset"


@pytest.fixture
def folder(tmp_path, model):
    huggingface.write(model, tmp_path / "model")
    return tmp_path / "model"


def test_out_and_in_from_the_shell(tmp_path, preset, model):
    said = "2 layers, 2 heads, width 8, 12 positions, 60 tokens\n"
    for arguments, made in (
        (["--preset=preset", "--output=new/folder"], "new/folder"),
        (["--input=new/folder", "--preset=again"], "again"),
    ):
        done = subprocess.run(
            [sys.executable, str(TOOL), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{made}: {said}"
    assert sorted(
        path.name for path in (tmp_path / "new/folder").iterdir()
    ) == [
        "config.json",
        "merges.txt",
        "model.safetensors",
        "special_tokens_map.json",
        "tokenizer_config.json",
        "vocab.json",
    ]
    again = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "again"))
    # The rows of special tokens are not part of a language model.
    assert again.backbone.num_special_tokens == 0
    inputs = small_models.inputs(small_models.token_ids(2, 12, below=60))
    np.testing.assert_array_equal(
        small_models.read(again(inputs)), small_models.read(model(inputs))
    )
    assert again.preprocessor.tokenizer.tokenize(
        "the cat."
    ) == small_models.byte_pairs().encode("the cat.")


MISTAKES = {
    "nothing": ([], "--preset is missing"),
    "one way": (["--preset", "p"], "give either --input or --output"),
    "both ways": (
        ["--preset", "p", "--input", "i", "--output", "o"],
        "give either",
    ),
    "unknown": (["--preset", "p", "--model", "m"], "--model"),
    "no input": (
        ["--preset", "p", "--input", "nowhere"],
        "--input nowhere is no folder",
    ),
    "preset there": (
        ["--preset", "model", "--input", "model"],
        "--preset model is there already",
    ),
    "output there": (
        ["--preset", "p", "--output", "model"],
        "--output model is there already",
    ),
    "no preset": (
        ["--preset", "p", "--output", "o"],
        "error: PRESET p ",
    ),
    "wrong preset": (["--preset", "model", "--output", "o"], "PRESET model"),
    "empty input": (
        ["--input", "model", "--preset", "p"],
        "config.json is missing",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_in_one_line(
    tmp_path, folder, monkeypatch, capsys, name
):
    arguments, expected = MISTAKES[name]
    if name == "empty input":
        (folder / "config.json").unlink()
    monkeypatch.chdir(tmp_path)
    assert load().main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert expected in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_output_that_cannot_be_written(tmp_path, preset, capsys):
    output = preset / "config.json" / "below"
    assert load().main(["--preset", str(preset), "--output", str(output)]) == 2
    assert "cannot be written (" in capsys.readouterr().err


def test_full_disk_is_told_in_one_line_and_leaves_nothing(
    tmp_path, preset, monkeypatch, capsys
):
    def save_file(tensors, path, metadata):
        path.write_text("torn")
        raise safetensors.SafetensorError("I/O error: No space left")

    monkeypatch.setattr(huggingface.safetensors_numpy, "save_file", save_file)
    output = tmp_path / "o"
    assert load().main(["--preset", str(preset), "--output", str(output)]) == 2
    assert capsys.readouterr().err == (
        f"error: --output {output} cannot be written (I/O error: No space"
        " left)\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]


def test_help(capsys):
    with pytest.raises(SystemExit) as raised:
        load().main(["-h"])
    assert raised.value.code == 0
    assert "--preset DIR --output DIR" in capsys.readouterr().out
