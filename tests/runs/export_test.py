"""Export through `gpt1_keras.main`, in this process."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from gpt1_keras.data.readers import glue
from gpt1_keras.runs import export
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    tiny_task.write_cola(folder / "data")
    tiny_task.write_preset(folder / "pretrained")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    task = benchmarks.benchmark("cola")
    return tiny_fine_tuned.write(folder / "cola", task, folder / "pretrained")


def run(folder, workdir, preset="cola", **settings):
    return tiny_fine_tuned.call_main(
        "gin/export.gin",
        workdir,
        **{"PRESET": str(folder / preset), "DATA_DIR": str(folder / "data")}
        | settings,
    )


@pytest.fixture(scope="module")
def exported(folder, model):
    """A workdir with an exported model; tests do not change it."""
    workdir = folder / "exported"
    status, errors = run(folder, workdir)
    assert status == 0, errors
    return workdir


def result_of(workdir):
    return json.loads((workdir / "result.json").read_text())


def test_served_model_answers_as_the_model(folder, model, exported):
    rows = glue.read_cola(folder / "data", "dev")
    served = tf.saved_model.load(exported / "saved_model" / "1")
    found = served.signatures["serving_default"](
        text=tf.constant([row.text for row in rows])
    )
    logits = tiny_fine_tuned.logits_one_by_one(model, rows)
    expected = tf.nn.softmax(logits).numpy()
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    labels = [label.decode() for label in found["label"].numpy()]
    assert labels == [str(i) for i in logits.argmax(-1)]


def test_result_and_card(folder, model, exported):
    found = result_of(exported)
    assert (found["run"], found["task"], found["split"]) == (
        *("export", "cola"),
        "dev",
    )
    assert found["saved_model"] == "saved_model/1"
    assert found["num_examples"] == tiny_task.SIZES["dev"]
    metrics = found["metrics"]
    rows = glue.read_cola(folder / "data", "dev")
    guesses = tiny_fine_tuned.logits_one_by_one(model, rows).argmax(-1)
    truth = [int(row.label) for row in rows]
    assert metrics["accuracy"] == pytest.approx(np.mean(guesses == truth))
    assert metrics["identical_texts"] == metrics["identical_tokens"] == 1.0
    assert metrics["same_predictions"] == 1.0
    assert 0 <= metrics["largest_difference"] < 1e-5
    extra = exported / "saved_model" / "1" / "assets.extra"
    card = (extra / "model_card.md").read_text()
    assert found["config_sha256"] in card and "# cola" in card
    assert (extra / "tf_serving_warmup_requests").stat().st_size > 0


def test_again_only_when_the_model_changed(folder, model, tmp_path):
    shutil.copytree(folder / "cola", tmp_path / "cola")
    workdir = tmp_path / "exported"
    settings = {"PRESET": str(tmp_path / "cola"), "NUM_WARM_UP": 0}
    for _ in range(2):
        assert run(folder, workdir, **settings)[0] == 0
        assert [p.name for p in (workdir / "saved_model").iterdir()] == ["1"]
    presets.save(model, tmp_path / "cola" / "preset")
    assert run(folder, workdir, **settings)[0] == 0
    names = sorted(p.name for p in (workdir / "saved_model").iterdir())
    assert names == ["1", "2"]
    assert result_of(workdir)["saved_model"] == "saved_model/2"


def test_float16_is_half_as_large(folder, model, exported, tmp_path):
    status, errors = run(folder, tmp_path, WEIGHTS_DTYPE="float16")
    assert status == 0, errors
    sizes = [
        (path / "saved_model/1/variables/variables.data-00000-of-00001")
        .stat()
        .st_size
        for path in (exported, tmp_path)
    ]
    assert sizes[1] < 0.6 * sizes[0]
    assert result_of(tmp_path)["metrics"]["largest_difference"] < 1e-4


def test_language_model(folder, tmp_path):
    path = folder / "data" / "glue" / "SST-2" / "dev.tsv"
    if not path.exists():
        path.parent.mkdir()
        path.write_text("sentence\tlabel\nthe old gate\t1\na tall tree\t0\n")
    status, errors = run(folder, tmp_path, "pretrained", TABLE_SPLIT=None)
    assert status == 0, errors
    found = result_of(tmp_path)
    assert found["task"] == "language model" and found["num_examples"] == 2
    assert found["metrics"]["largest_difference"] < 1e-4
    served = tf.saved_model.load(tmp_path / "saved_model" / "1")
    scores = served.signatures["score"](
        text=tf.constant(["the old gate", "a tall tree"])
    )
    loss = -np.sum(scores["log_probability"]) / np.sum(scores["num_tokens"])
    assert found["metrics"]["loss"] == pytest.approx(loss, rel=1e-5)


def test_a_model_that_answers_otherwise_is_not_published(
    folder, model, tmp_path
):
    with pytest.raises(RuntimeError, match="it is not published"):
        run(folder, tmp_path, TOLERANCE=-1.0)
    assert not (tmp_path / "saved_model").exists()
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"PRESET": "nowhere"}, "PRESET nowhere does not exist"),
        ({"WEIGHTS_DTYPE": "int8"}, "WEIGHTS_DTYPE is 'int8'"),
        ({"SPLIT": "validation"}, "split 'validation' is none of"),
    ],
)
def test_mistakes_end_in_one_line(folder, model, tmp_path, settings, expected):
    status, errors = run(folder, tmp_path, **settings)
    assert status == 2
    (line,) = errors.strip().splitlines()[-1:]
    assert expected in line
    assert not (tmp_path / "saved_model").exists()


def test_another_backend_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(export.keras.config, "backend", lambda: "jax")
    with pytest.raises(export.errors.InputError, match="KERAS_BACKEND=tensor"):
        export.export(
            workdir=None,
            config_sha256="",
            preset=None,
            options=None,
            tolerance=0,
            num_warm_up=0,
        )
