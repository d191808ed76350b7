import shutil
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from gpt1_keras import bindings
from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import results
from gpt1_keras.data.readers import glue
from gpt1_keras.serving import verify
from gpt1_keras.tasks import custom
from tests.reference import data_files
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs


def run(tiny, workdir, preset="cola", data=None, **settings):
    settings["export.Options.table_split"] = None
    data, preset = data or tiny.data, tiny.folder / preset
    return tiny_runs.run("export", preset, workdir, data, **settings)


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(verify, "answers", tiny_runs.answers)


def test_through_main_and_a_bare_process(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(console, "_SECONDS_BETWEEN_LINES", 0)
    settings = {"PRESET": str(tiny.folder / "cola"), "DATA_DIR": str(tiny.data)}
    status, messages = tiny_runs.call_main(
        "gin/export.gin", tmp_path, **settings
    )
    assert status == 0 and "answers: 100 %" in messages
    found = results.read(tmp_path)
    rows = glue.read_cola(tiny.data, "dev")
    saved_model = tmp_path / "saved_model" / "1"
    (answer,) = tiny_runs.ask(saved_model, {"text": [row.text for row in rows]})
    logits = tiny_fine_tuned.logits_one_by_one(tiny.models["cola"], rows)
    expected = tf.nn.softmax(logits).numpy()
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
    predicted = logits.argmax(-1)
    assert answer["label"].astype(int).tolist() == predicted.tolist()
    metrics = found["metrics"]
    assert 0 <= metrics.pop("largest_difference") < 1e-5
    truth = [int(row.label) for row in rows]
    correct = pytest.approx(np.mean(predicted == truth))
    expected = {
        **{"run": "export", "task": "cola", "split": "dev"},
        **{"num_examples": 40, "saved_model": "saved_model/1"},
        "accuracy": correct,
        **{"identical_texts": 1.0, "identical_tokens": 1.0},
        **{"same_predictions": 1.0, "compared_rows": 40},
    }
    assert {name: (found | metrics)[name] for name in expected} == expected
    extra = saved_model / "assets.extra"
    card = (extra / "model_card.md").read_text()
    assert found["config_sha256"] in card and "# cola" in card
    assert (extra / "tf_serving_warmup_requests").stat().st_size > 0
    kept = bindings.read_text((extra / "config.gin").read_text())
    assert kept.macros["PRESET"] == str(tiny.folder / "cola")


def test_versions(tiny, here, tmp_path, monkeypatch):
    """A changed model is a new version; weights have the dtype asked for."""
    shutil.copytree(tiny.folder / "cola", tmp_path / "cola")
    workdir = tmp_path / "exported"

    def killed(path):
        if (path / "1").exists():  # the version, when it has just appeared
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(files, "sync", killed)
        run(tiny, workdir, tmp_path / "cola", WEIGHTS_DTYPE="float16")
    run(tiny, workdir, tmp_path / "cola", WEIGHTS_DTYPE="float16")
    assert [p.name for p in (workdir / "saved_model").iterdir()] == ["1"]
    tiny_fine_tuned.write(
        tmp_path / "cola", "cola", tiny.folder / "pretrained", seed=1
    )
    found = run(tiny, workdir, tmp_path / "cola", WEIGHTS_DTYPE="int8")
    assert found["saved_model"] == "saved_model/2"
    (one,), (two,) = (
        tiny_runs.ask(workdir / "saved_model" / n, {"text": ["the old gate"]})
        for n in "12"
    )
    assert np.abs(one["probabilities"] - two["probabilities"]).max() > 1e-3
    one, two = (
        tf.train.load_checkpoint(
            str(workdir / f"saved_model/{n}/variables/variables")
        ).get_variable_to_dtype_map()
        for n in "12"
    )
    assert tf.float16 in one.values() and tf.float32 not in one.values()
    assert tf.int8 in two.values()
    # A result whose model is damaged is not finished.
    write = mock.Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr(files, "new_folder", write)
    run(tiny, workdir, tmp_path / "cola", WEIGHTS_DTYPE="int8")
    shutil.rmtree(workdir / "saved_model" / "2" / "variables")
    with pytest.raises(KeyboardInterrupt):
        run(tiny, workdir, tmp_path / "cola", WEIGHTS_DTYPE="int8")


def test_language_model(tiny, here, tmp_path):
    rows = "sentence\tlabel\nthe old gate\t1\na tall tree\t0\n"
    data_files.write(tmp_path, "data/glue/SST-2/dev.tsv", rows)
    found = run(tiny, tmp_path / "x", "pretrained", tmp_path / "data")
    assert found["task"] == "language model" and found["num_examples"] == 2
    metrics = found["metrics"]
    request = {"text": ["the old gate", "a tall tree"]}
    (scores,) = tiny_runs.ask(tmp_path / "x/saved_model/1", request)
    loss = -np.sum(scores["log_probability"]) / np.sum(scores["num_tokens"])
    assert metrics["loss"] == pytest.approx(loss, rel=1e-5)
    assert metrics["identical_tokens"] == 1.0


def test_own_rows_without_labels(tiny, here, tmp_path, monkeypatch):
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    train.write_text("text\tlabel\nthe garden\tno\nthe gate\tyes\n")
    words = tmp_path / "words.csv"
    words.write_text("review,stars\nZwölf Zwölf,1\n")
    # Of the last row, which ftfy repairs, the answer is not compared.
    test.write_text("text\nthe old gate\na Zwölf tree\nour\nschÃƒÂ¶n\na\tb\n")
    task = custom.custom(
        train=str(train), dev=str(train), dev_fraction=0.5, seed=0
    )
    tiny_fine_tuned.write(tmp_path / "own", task, tiny.folder / "pretrained")
    settings = {"PRESET": str(tmp_path / "own"), "BAD_ROWS": "skip"}
    settings |= {"TEST_FILE": str(test), "TRAIN_FILE": str(words)}
    settings["export.Agreement.min_identical_tokens"] = 0.5
    command = ("gin/export_custom.gin", tmp_path / "x")
    found = tiny_runs.succeed(*command, **settings)
    assert found["num_examples"] == 4 and "accuracy" not in found["metrics"]
    assert found["metrics"]["compared_rows"] == 3
    assert "2 columns, not 1" in (tmp_path / "x/skipped_rows.tsv").read_text()
    (card,) = (tmp_path / "x").glob("saved_model/1/*/model_card.md")
    card = card.read_text()
    assert "| checked on | 4 rows of test |\n| weights |" in card
    assert card.startswith("# own rows: unknown\n")
    # The words of the other file are in the table, whatever its columns.
    (graph,) = (tmp_path / "x").glob("saved_model/1/saved_model.pb")
    assert "Zwölf".encode() in graph.read_bytes()
    # Another file for the table makes another model.
    begun = mock.Mock(side_effect=errors.RunError("begun"))
    monkeypatch.setattr(files, "new_folder", begun)
    for table, status in ((words, 0), (train, 1)):
        settings["TRAIN_FILE"] = str(table)
        found, _ = tiny_runs.call_main(*command, **settings)
        assert found == status
    settings["PRESET"] = str(tiny.folder / "pretrained")
    status, message = tiny_runs.call_main(*command, **settings)
    assert status == 2 and "own rows: use gin/export.gin" in message


def test_a_wrong_answer_is_not_published(tiny, here, tmp_path, monkeypatch):
    """Its probabilities are right, one label is not."""
    answers = verify.answers

    def swapped(saved_model, requests):
        found = answers(saved_model, requests)
        found[0]["label"][0] = "10"[int(found[0]["label"][0])]
        return found

    monkeypatch.setattr(verify, "answers", swapped)
    with pytest.raises(errors.RunError, match="same_predictions is 0.975"):
        run(tiny, tmp_path)
    assert not [path for path in tmp_path.rglob("[!.]*") if path.is_file()]
