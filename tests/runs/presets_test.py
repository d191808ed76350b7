import dataclasses
import json
import pathlib
import shutil
import types

import keras_hub
import numpy as np
import pytest

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras import precision
from gpt1_keras.convert import huggingface
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import causal_lm
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from tests.reference import data_files
from tests.reference import small_models
from tests.reference import tiny_fine_tuned


@pytest.fixture
def cola(preset, tmp_path):
    """A fine-tuned model of its own, saved in tmp_path."""
    return tiny_fine_tuned.write(tmp_path, "cola", preset)


def weights(model):
    return [small_models.read(weight.value) for weight in model.weights]


def test_find(tiny, preset, tmp_path, caplog):
    """The preset, or the workdir above."""
    for path in (preset, str(preset)):
        assert presets.find(path) == preset
    expected = tiny.folder / "cola" / "preset"
    assert presets.find(expected) == presets.find(expected.parent) == expected
    assert presets.has_head(expected) and not presets.has_head(preset)
    # Of several seeds, the best on dev.
    data_files.write(tmp_path, "seed_2/preset/config.json", "{}")
    pairs = ((None, 0.9), (-0.5, 0.6), (-0.5, 0.7))  # the first metric decides
    seeds = {str(i): dict(zip("fa", x)) for i, x in enumerate(pairs, 1)}
    data_files.write(tmp_path, "result.json", {"seeds": seeds})
    assert presets.find(tmp_path) == tmp_path / "seed_2" / "preset"
    unknown = {"seeds": {"2": {"f": None}, "3": {"f": None}}}
    data_files.write(tmp_path, "result.json", unknown)
    assert presets.find(tmp_path) == tmp_path / "seed_2" / "preset"
    assert "is not finished" not in caplog.text
    data_files.write(tmp_path, "seed_2/config.gin", "")
    assert presets.find(tmp_path) == tmp_path / "seed_2" / "preset"
    assert "seed_2 is not finished: using what it saved" in caplog.text
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("nowhere", "empty", "file"):
        with pytest.raises(errors.InputError, match=rf"\S+{name} does not ex"):
            presets.find(tmp_path / name)


def test_without_a_name_the_shipped_one(monkeypatch, tmp_path, preset, caplog):
    monkeypatch.setattr(bindings, "ROOT", tmp_path)
    with pytest.raises(errors.InputError, match="gpt1_mini_novels_en does not"):
        presets.find(None)
    place = tmp_path / "presets" / "gpt1_mini_novels_en"
    shutil.copytree(preset, place)
    caplog.set_level("INFO", logger="absl")
    assert presets.find(None) == presets.find(None) == place
    assert caplog.text.count("no preset is given") <= 1


def test_save_replaces_the_whole_folder(cola, preset, tmp_path):
    """Also what a killed process has left next to it."""
    # Policies are rewritten in the files, class names like theirs are not.
    names = ["DTypePolicy", "mixed_bfloat16"]
    cola.preprocessor.label_words = names
    presets.save(cola, tmp_path / "preset", step=3, metrics={"f1": 0.5})
    found = presets.load(task_model.GPT1TaskModel, tmp_path / "preset")
    assert found.preprocessor.label_words == names
    facts = json.loads((tmp_path / "preset" / "checksums.json").read_text())
    files = facts.pop("files")
    assert facts == {"step": 3, "metrics": {"f1": 0.5}}
    assert {"model.weights.h5", "assets/tokenizer/merges.txt"} < set(files)
    for name in ("preset", ".preset.tmp", ".preset.old"):
        data_files.write(tmp_path, f"{name}/torn", "")
    other = tiny_fine_tuned.write(tmp_path, "cola", preset, seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]
    assert not (tmp_path / "preset" / "torn").exists()
    found = presets.load(task_model.GPT1TaskModel, tmp_path / "preset")
    for old, new, read, weight in zip(
        *map(weights, (cola, other, found)), other.weights, strict=True
    ):
        np.testing.assert_array_equal(read, new)
        assert not weight.trainable or not np.array_equal(old, new)


def test_a_preset_that_is_replaced_while_it_is_read(
    cola, tmp_path, monkeypatch
):
    def check(directory):
        facts = presets_check(directory)
        presets.save(cola, directory, step=4)
        return facts

    presets_check = presets.check
    monkeypatch.setattr(presets, "check", check)
    with pytest.raises(errors.InputError, match="replaced it meanwhile"):
        presets.load(task_model.GPT1TaskModel, tmp_path / "preset")


@pytest.mark.parametrize("is_full", [True, False])
def test_save_that_fails_leaves_what_was_there(
    cola, tmp_path, monkeypatch, is_full
):
    before = data_files.contents(tmp_path)

    def save(directory):
        assert not is_full  # h5py may crash there.
        (pathlib.Path(directory) / "model.weights.h5").write_text("torn")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cola, "save_to_preset", save)
    if is_full:
        usage = types.SimpleNamespace(free=100)
        monkeypatch.setattr(presets.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="No space left"):
        presets.save(cola, tmp_path / "preset")
    assert data_files.contents(tmp_path) == before


def test_integer_codes_are_not_written_as_weights(preset, tmp_path):
    model = presets.load(causal_lm.GPT1CausalLM, preset, dtype="int8")
    for write in (presets.save, huggingface.write):
        with pytest.raises(errors.InputError, match="quantized"):
            write(model, tmp_path / "new")
    assert not any(tmp_path.iterdir())
    model.save_to_preset(str(tmp_path))
    with pytest.raises(errors.InputError, match="is quantized: give"):
        presets.load_tokenizer(tmp_path)


def test_shipped_preset_reads_novels(caplog):
    """It is small, and knows more of English than its words."""
    directory = presets.find(None)
    size = sum(p.stat().st_size for p in directory.rglob("*") if p.is_file())
    assert size < 16e6
    for name in ("config.gin", "metrics.jsonl", "README.md"):
        assert (directory / name).exists()
    presets.check(directory)
    assert "has no checksums" not in caplog.text
    model = keras_hub.models.CausalLM.from_preset(str(directory))
    assert isinstance(model, causal_lm.GPT1CausalLM)
    assert {str(weight.dtype) for weight in model.weights} == {"float32"}
    tokenizer = model.preprocessor.tokenizer.pipeline
    ids = tokenizer.encode("She did not know what he had said.")
    found = small_models.log_probabilities(model, ids)
    assert -np.mean(found) < 4.0  # uniform over all words: 9.0


def test_pretrained_backbone(preset):
    """Transferred weights, special rows, dropout, and the global policy."""
    source = backbone_lib.GPT1Backbone.from_preset(str(preset))
    found, same, without, automatic = (
        presets.Pretrained(
            preset=str(preset), num_transferred_layers=None, dropout=dropout
        )
        for dropout in (0.25, None, 0.0, "auto")
    )
    assert found.num_positions() == source.max_sequence_length == 32
    assert presets.check_length(32, 32) == presets.check_length(None, 32) == 32
    with pytest.raises(errors.InputError, match="33 is more than the model's"):
        presets.check_length(33, 32)
    assert found.tokenizer.vocabulary_size == source.vocabulary_size
    precision.set_dtype("mixed_bfloat16")
    network = found.backbone(num_special_tokens=3)
    assert precision._rounding() in (True, None)
    assert network.dtype_policy.name == "mixed_bfloat16"
    # The first is the table of tokens.
    np.testing.assert_array_equal(weights(network)[0], weights(source)[0])
    assert network.num_special_tokens == 3
    config = network.get_config()
    rates = {name for name in config if name.endswith("_dropout")}
    assert {config[name] for name in rates} == {0.25}
    config = same.backbone(num_special_tokens=3).get_config()
    assert all(config[name] == getattr(source, name) for name in rates)
    assert without.backbone(0).residual_dropout == 0 < source.residual_dropout
    network = automatic.backbone(3, of_single_texts=True)
    assert network.residual_dropout == 0.05
    network = automatic.backbone(num_special_tokens=3)
    assert network.residual_dropout == source.residual_dropout
    new = dataclasses.replace(same, num_transferred_layers=-1)
    network = new.backbone(num_special_tokens=0)
    assert not np.array_equal(weights(network)[0], weights(source)[0])
