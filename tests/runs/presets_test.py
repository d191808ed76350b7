import collections
import json
import os
import pathlib
import shutil

import keras
import keras_hub
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.models import backbone
from gpt1_keras.models import causal_lm
from gpt1_keras.models import task_model
from gpt1_keras.models import tokenizer as tokenizer_lib
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return tiny_task.write_preset(tmp_path_factory.mktemp("run") / "preset")


def write_result(workdir, **values):
    workdir.mkdir(parents=True, exist_ok=True)
    (workdir / "result.json").write_text(json.dumps(values))


# --- find --------------------------------------------------------------------


def test_preset_or_the_workdir_above_it(preset):
    assert presets.find(preset) == preset
    assert presets.find(str(preset)) == preset
    assert presets.find(preset.parent) == preset


def test_without_a_name_the_one_shipped(monkeypatch, tmp_path, preset):
    package = tmp_path / "gpt1_keras"
    monkeypatch.setattr(presets, "_PACKAGE", package)
    with pytest.raises(errors.InputError, match="gpt1_mini_novels_en"):
        presets.find(None)
    # In an installed package, then in a repository, which comes first.
    for above in (package, tmp_path):
        place = above / "presets" / "gpt1_mini_novels_en"
        shutil.copytree(preset, place)
        assert presets.find(None) == place


@pytest.mark.parametrize(
    "name, expected",
    [
        ("nowhere", "does not exist"),
        ("empty", "has no config.json: give the preset/"),
        ("file", "has no config.json: give the preset/"),
    ],
)
def test_no_preset(tmp_path, name, expected):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    expected = rf"^PRESET \S+{name} {expected}"
    with pytest.raises(errors.InputError, match=expected):
        presets.find(tmp_path / name)


def test_best_of_several_seeds(tmp_path):
    write_result(
        tmp_path,
        seeds={
            "7": {"matthews": 0.2, "accuracy": 0.9},
            "8": {"matthews": 0.5, "accuracy": 0.7},
            "9": {"matthews": 0.4, "accuracy": 0.8},
        },
    )
    for seed in (7, 8, 9):
        folder = tmp_path / f"seed_{seed}" / "preset"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    assert presets.find_best(tmp_path) == tmp_path / "seed_8" / "preset"
    one = tmp_path / "seed_7"
    assert presets.find_best(one) == one / "preset"


def test_run_of_one_seed(preset):
    write_result(preset.parent, seed=42, metrics={"matthews": 0.1})
    assert presets.find_best(preset.parent) == preset
    assert presets.find_best(preset) == preset


def test_fine_tuned_models_are_not_shipped():
    with pytest.raises(errors.InputError, match="^no PRESET is given"):
        presets.find_best(None)


# --- load --------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [None, "mixed_bfloat16"])
def test_load_has_its_own_dtype_policy(preset, dtype):
    """Float32 unless asked, whatever the policy of the program."""
    keras.config.set_dtype_policy("mixed_bfloat16" if not dtype else "float32")
    before = keras.config.dtype_policy().name
    try:
        asked = {"dtype": dtype} if dtype else {}
        network = presets.load(backbone.GPT1Backbone, preset, **asked)
        assert keras.config.dtype_policy().name == before
    finally:
        keras.config.set_dtype_policy("float32")
    assert network.dtype_policy.name == (dtype or "float32")
    assert network.decoder_blocks[0].dtype_policy.name == (dtype or "float32")


DAMAGES = {
    "config.json": "{",
    "task.json": "no json",
    "model.weights.h5": "no weights",
    "assets/tokenizer/merges.txt": None,
}


@pytest.mark.parametrize("name, text", DAMAGES.items())
def test_damaged_preset(preset, tmp_path, name, text):
    damaged = tmp_path / "preset"
    shutil.copytree(preset, damaged)
    (damaged / name).unlink()
    if text is not None:
        (damaged / name).write_text(text)
    keras.config.set_dtype_policy("float32")
    with pytest.raises(errors.InputError) as caught:
        presets.load(causal_lm.GPT1CausalLM, damaged)
    message = str(caught.value)
    assert message.startswith(f"PRESET {damaged} cannot be read (")
    assert message.endswith(
        "give the workdir of a finished run, or make it again"
    )
    assert "\n" not in message
    assert keras.config.dtype_policy().name == "float32"


def test_preset_without_a_tokenizer(preset, tmp_path):
    damaged = tmp_path / "preset"
    shutil.copytree(preset, damaged)
    (damaged / "tokenizer.json").unlink()
    with pytest.raises(errors.InputError, match="cannot be read"):
        presets.load(tokenizer_lib.GPT1Tokenizer, damaged)


def test_preset_of_another_network(preset, tmp_path):
    keras_hub.models.GPT2Backbone(
        vocabulary_size=10,
        num_layers=1,
        num_heads=2,
        hidden_dim=4,
        intermediate_dim=8,
    ).save_to_preset(str(tmp_path))
    with pytest.raises(errors.InputError, match="cannot be read"):
        presets.load(backbone.GPT1Backbone, tmp_path)


# --- save --------------------------------------------------------------------


def test_save_replaces_the_whole_folder(preset, tmp_path):
    task = benchmarks.benchmark("cola")
    model = tiny_fine_tuned.write(tmp_path, task, preset, seed=0)
    folder = tmp_path / "preset"
    (folder / "left_over").write_text("")
    other = tiny_fine_tuned.write(tmp_path, task, preset, seed=1)
    assert not (folder / "left_over").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]
    found = presets.load(task_model.GPT1TaskModel, folder)
    for old, new, read in zip(
        model.weights, other.weights, found.weights, strict=True
    ):
        np.testing.assert_array_equal(
            small_models.read(read), small_models.read(new)
        )
        if new.trainable:
            assert not np.array_equal(
                small_models.read(old), small_models.read(new)
            )


def test_save_goes_on_after_a_killed_one(preset, tmp_path):
    for name in (".preset.tmp", ".preset.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "torn").write_text("")
    tiny_fine_tuned.write(tmp_path, benchmarks.benchmark("rte"), preset)
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]
    assert not (tmp_path / "preset" / "torn").exists()
    found = presets.load(task_model.GPT1TaskModel, tmp_path / "preset")
    assert found.preprocessor.label_words == ["entailment", "not_entailment"]


def test_save_that_fails_leaves_what_was_there(preset, tmp_path, monkeypatch):
    task = benchmarks.benchmark("cola")
    model = tiny_fine_tuned.write(tmp_path, task, preset)
    before = tiny_fine_tuned.contents(tmp_path)

    def save(directory):
        pathlib.Path(directory).mkdir()
        (pathlib.Path(directory) / "model.weights.h5").write_text("torn")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model, "save_to_preset", save)
    with pytest.raises(OSError, match="No space left"):
        presets.save(model, tmp_path / "preset")
    assert tiny_fine_tuned.contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]


def test_save_needs_room(preset, tmp_path, monkeypatch):
    model = tiny_fine_tuned.write(
        tmp_path, benchmarks.benchmark("cola"), preset
    )
    before = tiny_fine_tuned.contents(tmp_path)
    usage = collections.namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr(
        presets.shutil, "disk_usage", lambda path: usage(10**9, 10**9, 100)
    )
    with pytest.raises(OSError, match="No space left"):
        presets.save(model, tmp_path / "preset")
    assert tiny_fine_tuned.contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]


def test_label_words_are_kept_as_they_are(preset, tmp_path):
    """The policy is rewritten in the files, not words that look like one."""
    model = tiny_fine_tuned.write(
        tmp_path, benchmarks.benchmark("cola"), preset
    )
    words = ["mixed_bfloat16", "DTypePolicy", "é"]
    model.preprocessor.label_words = words
    presets.save(model, tmp_path / "preset")
    found = presets.load(task_model.GPT1TaskModel, tmp_path / "preset")
    assert found.preprocessor.label_words == words


# --- is_newer ----------------------------------------------------------------


def test_is_newer(preset, tmp_path):
    result = tmp_path / "result.json"
    assert not presets.is_newer(preset, result)  # There is no result yet.
    result.write_text("{}")
    assert not presets.is_newer(preset, result)
    later = result.stat().st_mtime + 10
    changed = shutil.copytree(preset, tmp_path / "preset")
    os.utime(changed / "config.json", (later, later))
    assert presets.is_newer(changed, result)


# --- the preset that is shipped ----------------------------------------------


def test_shipped_preset_reads_novels():
    """It is small, and knows more of English than its words."""
    directory = presets.find(None)
    size = sum(p.stat().st_size for p in directory.rglob("*") if p.is_file())
    assert size < 15e6
    for name in ("config.gin", "metrics.jsonl", "README.md"):
        assert (directory / name).exists()
    model = keras_hub.models.CausalLM.from_preset(str(directory))
    assert isinstance(model, causal_lm.GPT1CausalLM)
    assert {str(weight.dtype) for weight in model.weights} == {"float32"}
    tokenizer = model.preprocessor.tokenizer.pipeline
    ids = np.array([tokenizer.encode("She did not know what he had said.")])
    logits = model({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    losses = keras.losses.sparse_categorical_crossentropy(
        ids[:, 1:], logits[:, :-1], from_logits=True
    )
    assert float(np.mean(losses)) < 4.0  # a guess among all words: 9.0


# --- has_head ----------------------------------------------------------------


def test_has_head(preset, tmp_path):
    assert not presets.has_head(preset)
    task = benchmarks.benchmark("cola")
    tiny_fine_tuned.write(tmp_path / "cola", task, preset)
    assert presets.has_head(tmp_path / "cola" / "preset")
    assert not presets.has_head(tmp_path)
