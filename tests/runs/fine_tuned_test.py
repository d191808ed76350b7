import dataclasses

import keras
import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import examples as examples_lib
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task as task_lib
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

TEXTS = ["a tree", "the old captain walked under our gate", "the garden"]


@pytest.fixture(autouse=True)
def same_policy():
    yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fine_tuned")
    tiny_task.write_preset(folder / "pretrained")
    return folder


@pytest.fixture(scope="module")
def models(folder):
    """Models of three tasks with heads of different kinds, in `folder`."""
    return {
        name: tiny_fine_tuned.write(
            folder / name, benchmarks.benchmark(name), folder / "pretrained"
        )
        for name in ("cola", "stsb", "race")
    }


def scoring(dtype="float32"):
    return presets.Scoring(batch_size=2, bucket_lengths=(16, 32), dtype=dtype)


def examples_of(name):
    if name == "cola":
        return [examples_lib.Example(text) for text in TEXTS]
    if name == "stsb":
        return [examples_lib.Example(text, "our harbour") for text in TEXTS]
    choices = ("the tree", "a gate", "the old garden", "near")
    return [
        examples_lib.Example(text, "walked", choices=choices) for text in TEXTS
    ]


@pytest.mark.parametrize("name", ["cola", "stsb", "race"])
@pytest.mark.parametrize("place", ["", "preset"])
def test_scores_examples_without_labels(folder, models, name, place):
    model = presets.FineTuned(folder / name / place, scoring())
    assert model.directory == folder / name / "preset"
    assert model.preprocessor.task == name
    task = benchmarks.of_preset(model.preprocessor)
    examples = model.labelled(task, examples_of(name), "test")
    assert examples.name == f"{name} test"
    found = model.logits(examples)
    expected = tiny_fine_tuned.logits_one_by_one(
        models[name], examples_of(name)
    )
    assert found.shape == (3, {"cola": 2, "stsb": 6, "race": 4}[name])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_computes_in_the_dtype_asked_for(folder, models):
    """Near the logits of float32, but not equal."""
    found = {}
    for dtype in ("float32", "mixed_bfloat16"):
        model = presets.FineTuned(folder / "cola", scoring(dtype))
        task = benchmarks.benchmark("cola")
        examples = model.labelled(task, examples_of("cola"), "test")
        found[dtype] = model.logits(examples)
    np.testing.assert_allclose(
        found["mixed_bfloat16"], found["float32"], atol=0.1
    )
    assert not np.allclose(found["mixed_bfloat16"], found["float32"], atol=1e-5)


def test_task_with_other_labels(folder, models):
    """The same words in another order are other classes."""
    model = presets.FineTuned(folder / "cola", scoring())
    mine = dataclasses.replace(
        benchmarks.benchmark("cola"),
        name="mine",
        label_space=task_lib.Classes(("1", "0")),
    )
    expected = (
        r"fine-tuned on cola \(classification with labels 0, 1\), but mine is "
        "classification with labels 1, 0: give a model of it"
    )
    with pytest.raises(errors.InputError, match=expected):
        model.labelled(mine, [], "dev")


@pytest.mark.parametrize(
    "preset, task",
    [("stsb", "race"), ("race", "stsb"), ("cola", "wnli"), ("cola", "mrpc")],
)
def test_task_of_another_kind(folder, models, preset, task):
    """The last two have the labels of CoLA, the others none."""
    model = presets.FineTuned(folder / preset, scoring())
    expected = f"fine-tuned on {preset} .*, but {task} is "
    with pytest.raises(errors.InputError, match=expected):
        model.labelled(benchmarks.benchmark(task), [], "dev")


@pytest.mark.parametrize(
    "name, expected",
    [
        ("pretrained", "has no head: it is pretrained, not fine-tuned"),
        ("nowhere", "does not exist"),
    ],
)
def test_mistakes(folder, name, expected):
    with pytest.raises(errors.InputError, match=expected):
        presets.FineTuned(folder / name, scoring())


def test_unknown_dtype(folder, models):
    with pytest.raises(errors.InputError, match="`dtype` is 'float23'"):
        presets.FineTuned(folder / "cola", scoring("float23"))
