import collections
import dataclasses
import json
import os
import pathlib
import shutil

import keras
import keras_hub
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.models import backbone as backbone_lib
from gpt1_keras.models import causal_lm
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib
from tests.reference import small_models
from tests.reference import tiny_fine_tuned


@pytest.fixture(scope="module")
def preset(tiny):
    return tiny.folder / "pretrained"


@pytest.fixture
def cola(preset, tmp_path):
    """A fine-tuned model of its own, saved in tmp_path."""
    task = benchmarks.benchmark("cola")
    return tiny_fine_tuned.write(tmp_path, task, preset)


def weights(model):
    return [small_models.read(weight.value) for weight in model.weights]


def test_find(tiny, preset, tmp_path):
    """The preset, or the workdir above."""
    for path in (preset, str(preset)):
        assert presets.find(path) == preset
    expected = tiny.folder / "cola" / "preset"
    assert presets.find(expected) == presets.find(expected.parent) == expected
    assert presets.has_head(expected) and not presets.has_head(preset)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for name, message in (
        ("nowhere", "does not exist"),
        ("empty", "has no preset/ folder and no config.json"),
        ("file", "has no preset/ folder and no config.json"),
    ):
        with pytest.raises(errors.InputError, match=rf"\S+{name} {message}"):
            presets.find(tmp_path / name)


def test_without_a_name_the_shipped_one(monkeypatch, tmp_path, preset):
    package = tmp_path / "gpt1_keras"
    monkeypatch.setattr(presets, "_PACKAGE", package)
    with pytest.raises(errors.InputError, match="gpt1_mini_novels_en does not"):
        presets.find(None)
    # In an installed package, then in a repository, which comes first.
    for above in (package, tmp_path):
        place = above / "presets" / "gpt1_mini_novels_en"
        shutil.copytree(preset, place)
        assert presets.find(None) == place
    with pytest.raises(errors.InputError, match="^`preset` is not given"):
        presets.find_best(None)


def test_best_of_several_seeds(tmp_path):
    seeds = {
        "7": {"matthews": 0.2, "accuracy": 0.9},
        "8": {"matthews": 0.5, "accuracy": 0.7},
        "9": {"matthews": 0.4, "accuracy": 0.8},
    }
    (tmp_path / "result.json").write_text(json.dumps({"seeds": seeds}))
    for seed in seeds:
        folder = tmp_path / f"seed_{seed}" / "preset"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    assert presets.find_best(tmp_path) == tmp_path / "seed_8" / "preset"
    one = tmp_path / "seed_7"
    (one / "result.json").write_text('{"seed": 7, "metrics": {"f1": 0.1}}')
    assert presets.find_best(one) == one / "preset"


@pytest.mark.parametrize("dtype", [None, "mixed_bfloat16"])
def test_load_has_its_own_dtype_policy(preset, dtype):
    """Float32 unless given, whatever the policy of the program."""
    keras.config.set_dtype_policy("float32" if dtype else "mixed_bfloat16")
    before = keras.config.dtype_policy().name
    given = {"dtype": dtype} if dtype else {}
    network = presets.load(backbone_lib.GPT1Backbone, preset, **given)
    assert keras.config.dtype_policy().name == before
    assert network.dtype_policy.name == (dtype or "float32")
    assert network.decoder_blocks[0].dtype_policy.name == (dtype or "float32")


def test_preset_of_another_network(tmp_path):
    keras_hub.models.GPT2Backbone(
        vocabulary_size=10,
        num_layers=1,
        num_heads=2,
        hidden_dim=4,
        intermediate_dim=8,
    ).save_to_preset(str(tmp_path))
    with pytest.raises(errors.InputError, match="cannot be read"):
        presets.load(backbone_lib.GPT1Backbone, tmp_path)


def test_save_replaces_the_whole_folder(cola, preset, tmp_path):
    """Also what a killed process has left next to it.

    Policies are rewritten in the files, class names that look like one are
    not.
    """
    names = ["DTypePolicy", "mixed_bfloat16"]
    cola.preprocessor.label_words = names
    presets.save(cola, tmp_path / "preset", step=3, metrics={"f1": 0.5})
    found = presets.load(task_model.GPT1TaskModel, tmp_path / "preset")
    assert found.preprocessor.label_words == names
    facts = json.loads((tmp_path / "preset" / "checksums.json").read_text())
    files = facts.pop("files")
    assert facts == {"step": 3, "metrics": {"f1": 0.5}}
    assert {"model.weights.h5", "assets/tokenizer/merges.txt"} < set(files)
    (tmp_path / "preset" / "left_over").write_text("")
    for name in (".preset.tmp", ".preset.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "torn").write_text("")
    task = benchmarks.benchmark("cola")
    other = tiny_fine_tuned.write(tmp_path, task, preset, seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]
    for name in ("left_over", "torn"):
        assert not (tmp_path / "preset" / name).exists()
    found = presets.load(task_model.GPT1TaskModel, tmp_path / "preset")
    for old, new, read, weight in zip(
        *map(weights, (cola, other, found)), other.weights, strict=True
    ):
        np.testing.assert_array_equal(read, new)
        assert not weight.trainable or not np.array_equal(old, new)


@pytest.mark.parametrize("is_full", [True, False])
def test_save_that_fails_leaves_what_was_there(
    cola, tmp_path, monkeypatch, is_full
):
    before = tiny_fine_tuned.contents(tmp_path)

    def save(directory):
        assert not is_full  # h5py may crash there.
        pathlib.Path(directory).mkdir()
        (pathlib.Path(directory) / "model.weights.h5").write_text("torn")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cola, "save_to_preset", save)
    if is_full:
        usage = collections.namedtuple("usage", ["total", "used", "free"])
        monkeypatch.setattr(
            presets.shutil, "disk_usage", lambda path: usage(10**9, 10**9, 100)
        )
    with pytest.raises(OSError, match="No space left"):
        presets.save(cola, tmp_path / "preset")
    assert tiny_fine_tuned.contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["preset"]


def test_a_result_holds_for_unchanged_presets(preset, tmp_path):
    def is_measured(**facts):
        return presets.is_measured(tmp_path, "a", [preset, changed], **facts)

    changed = shutil.copytree(preset, tmp_path / "preset")
    assert not is_measured()  # There is no result yet.
    result = tmp_path / "result.json"
    result.write_text('{"config_sha256": "a", "split": "dev"}')
    for seconds, expected in ((-10, True), (10, False)):
        time = result.stat().st_mtime + seconds
        for path in changed.iterdir():
            os.utime(path, (time, time))
        assert is_measured(split="dev") == expected
        assert not is_measured(split="test")


def test_shipped_preset_reads_novels(caplog):
    """It is small, and knows more of English than its words."""
    directory = presets.find(None)
    size = sum(p.stat().st_size for p in directory.rglob("*") if p.is_file())
    assert size < 15e6
    for name in ("config.gin", "metrics.jsonl", "README.md"):
        assert (directory / name).exists()
    presets.check(directory)
    assert "has no checksums" not in caplog.text
    model = keras_hub.models.CausalLM.from_preset(str(directory))
    assert isinstance(model, causal_lm.GPT1CausalLM)
    assert {str(weight.dtype) for weight in model.weights} == {"float32"}
    tokenizer = model.preprocessor.tokenizer.pipeline
    ids = np.array([tokenizer.encode("She did not know what he had said.")])
    logits = model({"token_ids": ids, "padding_mask": np.ones_like(ids)})
    losses = keras.losses.sparse_categorical_crossentropy(
        ids[:, 1:], logits[:, :-1], from_logits=True
    )
    assert float(np.mean(losses)) < 4.0  # uniform over all words: 9.0


def pretrained(preset, **changes):
    settings = {"num_transferred_layers": None, "dropout": 0.1} | changes
    return presets.Pretrained(preset=preset, **settings)


def table(network):
    embedding = network.token_and_position_embedding
    return small_models.read(embedding.token_embeddings.value)


def test_pretrained_backbone(preset):
    """Transferred weights, special rows, dropout, and the global policy."""
    source = backbone_lib.GPT1Backbone.from_preset(str(preset))
    found = pretrained(str(preset), dropout=0.25)
    assert found.num_positions() == source.max_sequence_length == 32
    assert found.tokenizer().vocabulary_size == source.vocabulary_size
    keras.config.set_dtype_policy("mixed_bfloat16")
    network = found.backbone()
    assert network.dtype_policy.name == "mixed_bfloat16"
    np.testing.assert_array_equal(table(network), table(source))
    assert network.num_special_tokens == 3
    config = network.get_config()
    rates = {config[name] for name in config if name.endswith("_dropout")}
    assert rates == {0.25}
    # Another one shares nothing with it.
    embedding = found.backbone().token_and_position_embedding
    embedding.token_embeddings.assign(embedding.token_embeddings * 0.0)
    np.testing.assert_array_equal(table(network), table(source))


def test_what_is_not_transferred_comes_from_the_global_seed(preset):
    def new(seed):
        keras.utils.set_random_seed(seed)
        return table(pretrained(preset, num_transferred_layers=-1).backbone())

    np.testing.assert_array_equal(new(5), new(5))
    assert not np.array_equal(new(5), new(6))
    source = backbone_lib.GPT1Backbone.from_preset(str(preset))
    assert not np.any(new(5) == table(source))
    with pytest.raises(errors.InputError, match="the preset has 2 layers"):
        pretrained(preset, num_transferred_layers=3).backbone()


TEXTS = ["a tree", "the old captain walked under our gate", "the garden"]
EXAMPLES = {
    "cola": [examples_lib.Example(text) for text in TEXTS],
    "stsb": [examples_lib.Example(text, "our harbour") for text in TEXTS],
    "race": [
        examples_lib.Example(
            text, "walked", choices=("the tree", "a gate", "the old", "near")
        )
        for text in TEXTS
    ],
}


def fine_tuned(path, dtype="float32"):
    scoring = presets.Scoring(
        batch_size=2, bucket_lengths=(16, 32), dtype=dtype
    )
    return presets.FineTuned(path, scoring)


@pytest.mark.parametrize("name", EXAMPLES)
def test_fine_tuned_scores_examples_without_labels(tiny, name):
    model = fine_tuned(tiny.folder / name)
    assert model.directory == tiny.folder / name / "preset"
    task = benchmarks.of_preset(model.preprocessor)
    examples = model.labelled(task, EXAMPLES[name], "test")
    assert examples.name == f"{name} test"
    expected = tiny_fine_tuned.logits_one_by_one(
        tiny.models[name], EXAMPLES[name]
    )
    found = model.logits(examples)
    assert found.shape == (3, {"cola": 2, "stsb": 6, "race": 4}[name])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    if name == "cola":  # Near these in bfloat16, but not equal.
        model = fine_tuned(tiny.folder / name, "mixed_bfloat16")
        near = model.logits(model.labelled(task, EXAMPLES[name], "test"))
        np.testing.assert_allclose(near, expected, atol=0.1)
        assert not np.allclose(near, expected, atol=1e-5)


def test_fine_tuned_on_another_kind_of_task(tiny):
    """Other labels, or the same ones in another order."""
    swapped = dataclasses.replace(
        benchmarks.benchmark("cola"),
        name="mine",
        label_space=task_lib.Classes(("1", "0")),
    )
    for name, task, expected in (
        (
            *("cola", swapped),
            r"cola \(classification with labels 0, 1\), but mine is "
            "classification with labels 1, 0; give a model of mine",
        ),
        ("stsb", "race", "but race is multiple choice"),
        ("race", "stsb", "but stsb is similarity with a score"),
        ("cola", "wnli", "but wnli is entailment with labels 0, 1"),
        ("cola", "mrpc", "but mrpc is similarity with labels 0, 1"),
    ):
        model = fine_tuned(tiny.folder / name)
        task = benchmarks.benchmark(task) if isinstance(task, str) else task
        with pytest.raises(errors.InputError, match=expected):
            model.labelled(task, [], "dev")
    with pytest.raises(errors.InputError, match="has no head: it is pretrain"):
        fine_tuned(tiny.folder / "pretrained")
