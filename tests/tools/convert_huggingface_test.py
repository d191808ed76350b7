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


def load():
    spec = importlib.util.spec_from_file_location("convert_huggingface", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model():
    network = small_models.network(vocabulary_size=60, intermediate_dim=32)
    return builders.gpt1_causal_lm(network, small_models.byte_pairs())


@pytest.fixture
def preset(tmp_path, model):
    presets.save(model, tmp_path / "preset")
    return tmp_path / "preset"


def test_out_and_in(tmp_path, preset, model, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main = load().main
    assert main(["--preset=preset", "--output=new/folder"]) == 0
    # In through the shell.
    done = subprocess.run(
        [sys.executable, str(TOOL), "--input=new/folder", "--preset=again"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    sizes = "2 layers, 2 heads, width 8, 12 positions, 60 tokens\n"
    # The rows of special tokens are not part of a language model.
    said = capsys.readouterr().out
    assert said == f"new/folder: 2344 parameters, {sizes}"
    assert done.stdout == f"again: 2320 parameters, {sizes}"
    names = {path.name for path in (tmp_path / "new/folder").iterdir()}
    assert names == {
        "config.json",
        "merges.txt",
        "model.safetensors",
        "special_tokens_map.json",
        "tokenizer_config.json",
        "vocab.json",
    }
    again = causal_lm.GPT1CausalLM.from_preset(str(tmp_path / "again"))
    assert again.backbone.num_special_tokens == 0
    inputs = small_models.inputs(small_models.token_ids(2, 12, below=60))
    np.testing.assert_array_equal(
        small_models.read(again(inputs)), small_models.read(model(inputs))
    )
    expected = small_models.byte_pairs().encode("the cat.")
    assert again.preprocessor.tokenizer.tokenize("the cat.") == expected


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ("", "--preset is missing"),
        ("--preset p", "give either --input or --output"),
        ("--preset p --input i --output o", "give either"),
        ("--preset p --model m", "--model"),
        (
            "--preset p --input openai-gpt",
            "--input openai-gpt is not a folder: hub ids are not downloaded",
        ),
        ("--preset model --input model", "--preset model already exists"),
        ("--preset p --output model", "--output model already exists"),
        ("--preset p --output o", "error: `preset`: p "),
        ("--preset model --output o", "`preset`: model"),
        ("--input model --preset p", "config.json is missing"),
        ("--input model --preset model/file/p", "config.json is missing"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path, monkeypatch, capsys, arguments, expected
):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    assert load().main(arguments.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert expected in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_full_disk_is_told_in_one_line_and_leaves_nothing(
    tmp_path, preset, monkeypatch, capsys
):
    def save_file(tensors, path, metadata):
        path.write_text("torn")
        raise safetensors.SafetensorError("I/O error: No space left")

    main = load().main
    output = preset / "config.json" / "below"
    assert main(["--preset", str(preset), "--output", str(output)]) == 2
    assert "cannot be written (" in capsys.readouterr().err
    monkeypatch.setattr(huggingface.safetensors_numpy, "save_file", save_file)
    output = tmp_path / "o"
    assert main(["--preset", str(preset), "--output", str(output)]) == 2
    assert capsys.readouterr().err == (
        f"error: --output {output} cannot be written (I/O error: No space"
        " left)\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]


def test_help(capsys):
    with pytest.raises(SystemExit) as raised:
        load().main(["-h"])
    assert raised.value.code == 0
    said = capsys.readouterr().out
    assert "--preset DIR --output DIR" in said and "not a hub id" in said
