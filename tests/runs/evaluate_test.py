"""Evaluation through `gpt1_keras.main`, in this process."""

import json
import os
import pathlib
import re
import shutil

import numpy as np
import pytest
import sklearn.metrics
from scipy import special
from scipy import stats

from gpt1_keras.data.readers import glue
from gpt1_keras.evaluation import predictions
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

PNG = b"\x89PNG"
SCORES = (0.0, 4.75, 2.5, 3.0, 1.2)


def write_stsb(folder):
    """STS-B's dev file, only the columns that are read."""
    path = folder / "glue" / "STS-B" / "dev.tsv"
    path.parent.mkdir(parents=True)
    lines = ["index\tsentence1\tsentence2\tscore"]
    for i, score in enumerate(SCORES):
        words = " ".join(tiny_task.WORDS[i : i + 3])
        lines.append(f"{i}\tthe garden {words}\tthe old gate\t{score}")
    path.write_text("\n".join(lines) + "\n")


def write_race(folder):
    """RACE's dev folders with one document and two questions each."""
    for level in ("middle", "high"):
        path = folder / "RACE" / "dev" / level / "1.txt"
        path.parent.mkdir(parents=True)
        record = {
            **{"id": path.name, "article": "the old captain walked"},
            **{"questions": ["who walked", "near"], "answers": ["A", "C"]},
            "options": [["captain", "gate", "tree", "our"]] * 2,
        }
        path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    tiny_task.write_cola(folder / "data")
    write_stsb(folder / "data")
    tiny_task.write_preset(folder / "pretrained")
    return folder


@pytest.fixture(scope="module")
def models(folder):
    found = {
        name: tiny_fine_tuned.write(
            folder / name, benchmarks.benchmark(name), folder / "pretrained"
        )
        for name in ("cola", "stsb")
    }
    # Random weights see one class everywhere; now each in half of the rows.
    model, examples = found["cola"], glue.read_cola(folder / "data", "dev")
    logits = tiny_fine_tuned.logits_one_by_one(model, examples)
    bias = model.head.dense.bias
    bias.assign(bias - np.median(logits, axis=0).astype("float32"))
    presets.save(model, folder / "cola" / "preset")
    return found


def run(folder, workdir, name, **settings):
    return tiny_fine_tuned.call_main(
        "gin/evaluate.gin",
        workdir,
        **{"PRESET": str(folder / name), "DATA_DIR": str(folder / "data")}
        | settings,
    )


@pytest.fixture(scope="module")
def cola(folder, models):
    """The workdir of CoLA's dev split; tests do not change it."""
    workdir = folder / "cola_dev"
    status, errors = run(folder, workdir, "cola")
    assert status == 0, errors
    return workdir


def result_of(workdir):
    return json.loads((workdir / "result.json").read_text())


def test_metrics_are_those_of_examples_scored_one_by_one(folder, models, cola):
    examples = glue.read_cola(folder / "data", "dev")
    truth = [int(example.label) for example in examples]
    guesses = tiny_fine_tuned.logits_one_by_one(
        models["cola"], examples
    ).argmax(-1)
    assert len(set(guesses)) == 2
    found = result_of(cola)
    assert found["metrics"] == {
        "matthews": pytest.approx(
            sklearn.metrics.matthews_corrcoef(truth, guesses)
        ),
        "accuracy": pytest.approx(np.mean(guesses == truth)),
    }
    share = np.mean(truth)
    assert found["majority"] == {
        "matthews": 0.0,
        "accuracy": pytest.approx(max(share, 1 - share)),
    }


def test_result(folder, cola):
    found = result_of(cola)
    assert (found["run"], found["task"], found["split"]) == (
        *("evaluate", "cola"),
        "dev",
    )
    assert found["paper"] == {"matthews": 0.454}
    assert found["num_examples"] == tiny_task.SIZES["dev"]
    assert found["preset"] == str(folder / "cola" / "preset")
    assert f"# config_sha256: {found['config_sha256']}\n" in (
        cola / "config.gin"
    ).read_text(encoding="utf-8")
    assert (cola / "plots" / "confusion.png").read_bytes()[:4] == PNG
    assert not (cola / "plots" / "scores.png").exists()


def test_predictions_have_probabilities_worst_first(folder, models, cola):
    examples = glue.read_cola(folder / "data", "dev")
    expected = special.softmax(
        tiny_fine_tuned.logits_one_by_one(models["cola"], examples), axis=-1
    )
    rows = predictions.read(cola / "predictions.tsv")
    assert sorted(row["row"] for row in rows) == list(range(len(examples)))
    for row in rows:
        example, share = examples[row["row"]], expected[row["row"]]
        assert (row["text"], row["label"]) == (example.text, example.label)
        assert row["prediction"] == str(share.argmax())
        assert list(row["probabilities"]) == ["0", "1"]
        assert list(row["probabilities"].values()) == pytest.approx(
            share.tolist(), abs=1e-4
        )
    of_labels = [row["label_probability"] for row in rows]
    assert of_labels == sorted(of_labels)


def test_attention_of_the_worst_first(cola):
    page = (cola / "tokens.html").read_text(encoding="utf-8")
    titles = re.findall(r"<h2>(.*)</h2>", page)
    rows = predictions.read(cola / "predictions.tsv")[:10]
    assert titles == [
        f"row {row['row']}: predicted {row['prediction']}, labelled "
        f"{row['label']}"
        for row in rows
    ]
    words = "".join(re.findall(r">([^<>]*)</span>", page)).split("[start]")
    assert words[1] == f"{rows[0]['text']} [extract]"


def test_attention_in_the_choice_that_was_taken(folder, tmp_path):
    write_race(tmp_path / "data")
    task = benchmarks.benchmark("race")
    tiny_fine_tuned.write(tmp_path / "race", task, folder / "pretrained")
    data = {
        "DATA_DIR": str(tmp_path / "data"),
        "evaluate.evaluate.num_viewed": 1,
    }
    status, errors = run(tmp_path, tmp_path / "dev", "race", **data)
    assert status == 0, errors
    row = predictions.read(tmp_path / "dev" / "predictions.tsv")[0]
    page = (tmp_path / "dev" / "tokens.html").read_text(encoding="utf-8")
    shown = "".join(re.findall(r">([^<>]*)</span>", page))
    taken = row["choices"][int(row["prediction"])]
    assert shown.endswith(f"[delimiter]{taken} [extract]")
    assert shown.count("[start]") == 1


def test_attention_may_be_left_out(folder, models, tmp_path):
    assert (
        run(folder, tmp_path, "cola", **{"evaluate.evaluate.num_viewed": 0})[0]
        == 0
    )
    assert not (tmp_path / "tokens.html").exists()


def test_finished_run_started_again_changes_nothing(folder, cola):
    before = tiny_fine_tuned.contents(cola)
    status, errors = run(folder, cola, "cola")
    assert status == 0, errors
    assert tiny_fine_tuned.contents(cola) == before


def test_preset_that_changed_is_evaluated_again(folder, models, tmp_path):
    shutil.copytree(folder / "stsb", tmp_path / "stsb")
    workdir = tmp_path / "dev"
    settings = {"PRESET": str(tmp_path / "stsb")}
    assert run(folder, workdir, "stsb", **settings)[0] == 0
    first = tiny_fine_tuned.contents(workdir)
    later = (workdir / "result.json").stat().st_mtime + 1
    model = models["stsb"]
    kernel = model.head.dense.kernel
    before = np.array(kernel)
    kernel.assign(-before)
    presets.save(model, tmp_path / "stsb" / "preset")
    kernel.assign(before)
    for path in (tmp_path / "stsb" / "preset").iterdir():
        os.utime(path, (later, later))
    assert run(folder, workdir, "stsb", **settings)[0] == 0
    metrics = result_of(workdir)["metrics"]
    assert metrics != json.loads(first[pathlib.Path("result.json")])["metrics"]


def test_split_without_labels(folder, models, tmp_path):
    status, errors = run(folder, tmp_path, "cola", SPLIT="test")
    assert status == 0, errors
    found = result_of(tmp_path)
    assert (found["split"], found["num_examples"]) == ("test", 10)
    assert found["metrics"] == {} and found["majority"] == {}
    assert not (tmp_path / "plots").exists()
    rows = predictions.read(tmp_path / "predictions.tsv")
    examples = glue.read_cola(folder / "data", "test")
    assert [row["text"] for row in rows] == [e.text for e in examples]
    assert [row["row"] for row in rows] == list(range(10))
    assert {row["label"] for row in rows} == {None}
    logits = tiny_fine_tuned.logits_one_by_one(models["cola"], examples)
    assert [row["prediction"] for row in rows] == [
        str(each) for each in logits.argmax(-1)
    ]


def test_scores(folder, models, tmp_path):
    status, errors = run(folder, tmp_path, "stsb")
    assert status == 0, errors
    examples = glue.read_stsb(folder / "data", "dev")
    logits = tiny_fine_tuned.logits_one_by_one(models["stsb"], examples)
    expected = special.softmax(logits, axis=-1) @ np.arange(6)
    metrics = result_of(tmp_path)["metrics"]
    assert metrics == {
        "pearson": pytest.approx(
            stats.pearsonr(SCORES, expected).statistic, abs=1e-4
        ),
        "spearman": pytest.approx(stats.spearmanr(SCORES, expected).statistic),
    }
    assert (tmp_path / "plots" / "scores.png").read_bytes()[:4] == PNG
    assert not (tmp_path / "plots" / "confusion.png").exists()
    rows = predictions.read(tmp_path / "predictions.tsv")
    shares = special.softmax(logits, axis=-1)
    for row in rows:
        assert row["probabilities"] == pytest.approx(
            dict(zip("012345", shares[row["row"]].tolist())), abs=1e-4
        )
    errors = [row["error"] for row in rows]
    assert errors == sorted(errors, reverse=True)
    for row in rows:
        assert float(row["label"]) == SCORES[row["row"]]
        prediction = pytest.approx(expected[row["row"]], abs=1e-3)
        assert float(row["prediction"]) == prediction


@pytest.mark.parametrize(
    "name, settings, expected",
    [
        ("cola", {"SPLIT": "validation"}, "split 'validation' is not one of"),
        ("stsb", {"SPLIT": "test"}, "STS-B/test.tsv does not exist"),
        ("pretrained", {}, "has no head: it is pretrained, not fine-tuned"),
        ("nowhere", {}, "nowhere does not exist"),
        ("cola", {"DTYPE": "float23"}, "DTYPE is 'float23'"),
        ("cola", {"PRESET": None}, "no PRESET is given"),
    ],
)
def test_mistakes_end_in_one_line(
    folder, models, tmp_path, name, settings, expected
):
    workdir = tmp_path / "run"
    status, errors = run(folder, workdir, name, **settings)
    assert status == 2, errors
    assert "Traceback" not in errors
    (line,) = [x for x in errors.splitlines() if x.startswith("error: ")]
    assert expected in line
    # The corrected command may have the workdir.
    assert not workdir.exists() or not any(workdir.iterdir())


def test_preset_is_required(tmp_path):
    status, errors = tiny_fine_tuned.call_main("gin/evaluate.gin", tmp_path)
    assert status == 2
    assert "PRESET must be given" in errors
