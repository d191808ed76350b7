"""Export through `gpt1_keras.main`, in this process."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from gpt1_keras import config
from gpt1_keras.data.readers import glue
from gpt1_keras.runs import export
from gpt1_keras.runs import presets
from gpt1_keras.sample_world import benchmarks as sample_benchmarks
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import custom
from gpt1_keras.text import train_vocabulary
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


@pytest.fixture
def here(monkeypatch):
    """Answers of this process: it has TensorFlow already."""

    def answers(saved_model, requests):
        signature = tf.saved_model.load(saved_model).signatures[
            "serving_default"
        ]
        found = []
        for request in requests:
            inputs = {k: tf.constant(v) for k, v in request.items()}
            outputs = signature(**inputs).items()
            found.append({k: v.numpy().tolist() for k, v in outputs})
        return found

    monkeypatch.setattr(export.bare_process, "answers", answers)


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
    assert metrics["compared_rows"] == tiny_task.SIZES["dev"]
    assert (extra / "tf_serving_warmup_requests").stat().st_size > 0


def test_again_only_when_the_model_changed(folder, model, here, tmp_path):
    shutil.copytree(folder / "cola", tmp_path / "cola")
    workdir = tmp_path / "exported"
    settings = {
        "PRESET": str(tmp_path / "cola"),
        "export.export.num_warm_up": 0,
    }
    for _ in range(2):
        assert run(folder, workdir, **settings)[0] == 0
        assert [p.name for p in (workdir / "saved_model").iterdir()] == ["1"]
    presets.save(model, tmp_path / "cola" / "preset")
    assert run(folder, workdir, **settings)[0] == 0
    names = sorted(p.name for p in (workdir / "saved_model").iterdir())
    assert names == ["1", "2"]
    assert result_of(workdir)["saved_model"] == "saved_model/2"


def test_another_model_is_the_next_version(folder, model, here, tmp_path):
    """And each version keeps the configuration it was made with."""
    workdir = tmp_path / "exported"
    tiny_fine_tuned.write(
        tmp_path / "other",
        benchmarks.benchmark("cola"),
        folder / "pretrained",
        seed=1,
    )
    for i, settings in enumerate(
        [
            {"export.export.num_warm_up": 0},
            {"export.export.num_warm_up": 0, "PRESET": str(tmp_path / "other")},
        ],
        start=1,
    ):
        status, errors = run(folder, workdir, **settings)
        assert status == 0, errors
        assert result_of(workdir)["saved_model"] == f"saved_model/{i}"
    found = [
        tf.saved_model.load(workdir / "saved_model" / version).signatures[
            "serving_default"
        ](text=tf.constant(["the old gate"]))["probabilities"]
        for version in "12"
    ]
    assert np.abs(found[0] - found[1]).max() > 1e-3
    for version, preset in (("1", folder / "cola"), ("2", tmp_path / "other")):
        extra = workdir / "saved_model" / version / "assets.extra"
        # gin breaks long lines.
        kept = config.read_bindings((extra / "config.gin").read_text())
        assert kept.macros["PRESET"] == str(preset)


def test_float16_is_half_as_large(folder, model, exported, here, tmp_path):
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
    status, errors = run(
        folder,
        tmp_path,
        "pretrained",
        **{"serving_options.Options.table_split": None},
    )
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


FAMILIES = ("rte", "mrpc", "stsb", "race")


@pytest.fixture(scope="module")
def sample(folder):
    """The sample benchmarks, and a model of each family of two texts."""
    sample_benchmarks.write_benchmarks(
        folder / "sample", num_train=8, num_dev=6, num_test=6
    )
    for name in FAMILIES:
        task = benchmarks.benchmark(name)
        tiny_fine_tuned.write(folder / name, task, folder / "pretrained")
    return folder / "sample"


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_families(folder, sample, tmp_path, name):
    status, errors = run(
        folder,
        tmp_path,
        name,
        DATA_DIR=str(sample),
        **{"serving_options.Options.num_table_pieces": 20},
    )
    assert status == 0, errors
    found = result_of(tmp_path)
    assert found["task"] == name
    assert found["num_examples"] == found["metrics"]["compared_rows"] == 6
    assert found["metrics"]["same_predictions"] == 1.0
    task = benchmarks.benchmark(name)
    rows = task.read(sample, "dev")
    served = tf.saved_model.load(tmp_path / "saved_model" / "1")
    answer = served.signatures["serving_default"]
    inputs = answer.structured_input_signature[1]
    answers = answer(
        **{
            key: tf.constant([getattr(row, key) for row in rows])
            for key in inputs
        }
    )
    predictions = answers["score" if name == "stsb" else "label"].numpy()
    if task.label_space.class_names:
        words = [word.decode() for word in predictions]
        predictions = [
            task.label_space.class_names.index(word) for word in words
        ]
    expected = task.measure(rows, np.array(predictions))
    for metric, value in expected.items():
        assert found["metrics"][metric] == pytest.approx(
            value, rel=1e-4, nan_ok=True
        )


def test_word_pieces(folder, tmp_path):
    """A graph with an operation of tensorflow-text, in a bare process."""
    texts = [row.text for row in glue.read_cola(folder / "data", "train")]
    tokenizer = train_vocabulary.train_wordpiece(texts, vocabulary_size=60)
    assert tokenizer.type == "wordpiece"
    tiny_task.write_preset(tmp_path / "pretrained", tokenizer=tokenizer)
    task = benchmarks.benchmark("cola")
    tiny_fine_tuned.write(tmp_path / "cola", task, tmp_path / "pretrained")
    status, errors = run(
        folder,
        tmp_path / "exported",
        PRESET=str(tmp_path / "cola"),
        **{"serving_options.Options.table_split": None},
    )
    assert status == 0, errors
    metrics = result_of(tmp_path / "exported")["metrics"]
    assert metrics["identical_tokens"] == metrics["same_predictions"] == 1.0
    assert metrics["largest_difference"] < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("is_labelled", [True, False])
def test_own_rows(folder, here, tmp_path, is_labelled):
    header, texts = ["text"], ["the old gate", "a Zwölf tree", "our garden"]
    rows = [[text] for text in texts]
    if is_labelled:
        header = [*header, "label"]
        rows = [[*row, label] for row, label in zip(rows, ["no", "yes", "no"])]
    lines = ["\t".join(row) for row in [header, *rows]]
    (tmp_path / "test.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "train.tsv").write_text(
        "text\tlabel\nZwölf Zwölf\tno\nthe gate\tyes\n"
    )
    task = custom.custom(
        train=str(tmp_path / "train.tsv"),
        dev=str(tmp_path / "train.tsv"),
        dev_fraction=0.5,
        seed=0,
    )
    tiny_fine_tuned.write(tmp_path / "own", task, folder / "pretrained")
    status, errors = tiny_fine_tuned.call_main(
        "gin/export_custom.gin",
        tmp_path / "exported",
        PRESET=str(tmp_path / "own"),
        TEST_FILE=str(tmp_path / "test.tsv"),
        TRAIN_FILE=str(tmp_path / "train.tsv"),
    )
    assert status == 0, errors
    found = result_of(tmp_path / "exported")
    assert found["num_examples"] == 3
    assert ("accuracy" in found["metrics"]) == is_labelled
    # The words of the train file stand in the table.
    (graph,) = (tmp_path / "exported").glob("saved_model/1/saved_model.pb")
    assert "Zwölf".encode() in graph.read_bytes()


@pytest.mark.slow
def test_other_texts_are_compared(folder, model, here, tmp_path):
    (tmp_path / "book.txt").write_text(
        "The old gate.\n\nA tall tree, schÃ¶n and old.\n" * 20
    )
    status, errors = run(
        folder, tmp_path / "x", IDENTITY_TEXTS=str(tmp_path / "book.txt")
    )
    assert status == 0, errors
    metrics = result_of(tmp_path / "x")["metrics"]
    assert metrics["paragraphs"] == 40
    assert metrics["identical_paragraphs"] == 0.5  # ftfy mends one
    assert 0.5 < metrics["identical_paragraph_tokens"] < 1
    card = tmp_path / "x" / "saved_model/1/assets.extra/model_card.md"
    assert "On 40 paragraphs" in card.read_text()


def refused(folder, workdir, expected, **settings):
    """A run ends in one line and leaves nothing."""
    status, errors = run(folder, workdir, **settings)
    assert status == 2
    (line,) = errors.strip().splitlines()[-1:]
    assert line.startswith("error: the served model is not published")
    assert expected in line
    assert not [path for path in workdir.rglob("*") if path.is_file()]


def test_a_model_that_is_off_is_not_published(folder, model, here, tmp_path):
    refused(
        folder,
        tmp_path,
        "where its ids are those",
        **{"export.Agreement.tolerance": -1.0},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings, expected",
    [
        ({}, "less than 99.9000%"),
        ({"export.Agreement.min_identical_tokens": 0.0}, "no row has the ids"),
    ],
)
def test_another_tokenizer_is_not_published(
    folder, model, here, tmp_path, monkeypatch, settings, expected
):
    """Every id of the graph is one too high."""
    graph_tokenizer = export.serving_options.Options.graph_tokenizer

    def shifted(self, tokenizer, rows):
        graph = graph_tokenizer(self, tokenizer, rows)
        graph._values = graph._values + 1
        return graph

    monkeypatch.setattr(
        export.serving_options.Options, "graph_tokenizer", shifted
    )
    refused(folder, tmp_path, expected, **settings)


def test_another_label_is_not_published(
    folder, model, here, tmp_path, monkeypatch
):
    """The probabilities are right, one word is not."""
    answers = export.bare_process.answers

    def swapped(saved_model, requests):
        found = answers(saved_model, requests)
        label = found[0]["label"][0]
        found[0]["label"][0] = {b"0": "1", b"1": "0"}[label]
        return found

    monkeypatch.setattr(export.bare_process, "answers", swapped)
    refused(folder, tmp_path, "same_predictions is 0.975")


COMPARED = {
    "identical_texts": 1.0,
    "identical_tokens": 1.0,
    "compared_rows": 3,
    "largest_difference": 1e-6,
    "same_predictions": 1.0,
}


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"identical_tokens": 0.998}, "99.8000% of its tokens"),
        ({"compared_rows": 0, "largest_difference": 0.0}, "no row has"),
        ({"largest_difference": 2e-4}, "off by 0.0002"),
        ({"largest_difference": float("nan")}, "off by nan"),
        ({"same_predictions": 0.99}, "same_predictions is 0.99"),
        ({"same_num_tokens": 0.5}, "same_num_tokens is 0.5"),
    ],
)
def test_agreement(changes, expected):
    wanted = export.Agreement(tolerance=1e-4, min_identical_tokens=0.999)
    wanted.check(COMPARED)
    with pytest.raises(export.errors.InputError, match=expected):
        wanted.check(COMPARED | changes)


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"PRESET": "nowhere"}, "PRESET nowhere does not exist"),
        ({"WEIGHTS_DTYPE": "int8"}, "WEIGHTS_DTYPE is 'int8'"),
        ({"SPLIT": "validation"}, "split 'validation' is not one of"),
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
            agreement=None,
            num_warm_up=0,
        )
