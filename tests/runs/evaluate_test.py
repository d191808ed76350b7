import csv
import functools
import os
import shutil

import numpy as np
import pytest
import sklearn.metrics
from scipy import special
from scipy import stats

from gpt1_keras.data.readers import glue
from gpt1_keras.models import task_model
from gpt1_keras.runs import presets
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs
from tests.runs import conftest

PNG = b"\x89PNG"


def read(path, names):
    """Return {row: (fields, probability of each name)}, in their order."""
    with open(path, newline="", encoding="utf-8") as file:
        table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {
            int(row["row"]): (
                row,
                [float(row[f"probability_of_{name}"]) for name in names],
            )
            for row in table
        }


def test_metrics_and_predictions_are_those_of_one_example_at_a_time(
    tiny, tmp_path
):
    settings = {"PRESET": str(tiny.folder / "cola"), "DATA_DIR": str(tiny.data)}
    found = tiny_runs.succeed("gin/evaluate.gin", tmp_path, **settings)
    examples = glue.read_cola(tiny.data, "dev")
    truth = [int(example.label) for example in examples]
    logits = tiny_fine_tuned.logits_one_by_one(tiny.models["cola"], examples)
    predicted, share = logits.argmax(-1), np.mean(truth)
    assert len(set(predicted)) == 2
    expected = {
        **{"run": "evaluate", "task": "cola", "split": "dev"},
        **{"num_examples": 40, "paper": {"matthews": 0.454}},
        "preset": str(tiny.folder / "cola" / "preset"),
        "metrics": {
            "matthews": pytest.approx(
                sklearn.metrics.matthews_corrcoef(truth, predicted)
            ),
            "accuracy": pytest.approx(np.mean(predicted == truth)),
        },
        "majority": {
            "matthews": 0.0,
            "accuracy": pytest.approx(max(share, 1 - share)),
        },
    }
    assert {name: found[name] for name in expected} == expected
    assert "classes" not in found  # only of the user's own rows
    assert (tmp_path / "plots" / "confusion.png").read_bytes()[:4] == PNG
    assert not (tmp_path / "plots" / "scores.png").exists()
    # Every row, the worst first.
    rows = read(tmp_path / "predictions.tsv", "01")
    assert sorted(rows) == list(range(len(examples)))
    for i, (row, shares) in rows.items():
        example, expected = examples[i], special.softmax(logits[i])
        assert (row["text"], row["label"]) == (example.text, example.label)
        assert row["prediction"] == str(predicted[i])
        assert shares == pytest.approx(expected.tolist(), abs=1e-4)
    of_labels = [float(row["label_probability"]) for row, _ in rows.values()]
    assert of_labels == sorted(of_labels)


def test_scores(tiny, tmp_path):
    stsb = tiny.folder / "stsb"
    settings = {"evaluate.evaluate.num_viewed": 0}
    found = tiny_runs.run("evaluate", stsb, tmp_path, tiny.data, **settings)
    metrics = found["metrics"]
    assert not (tmp_path / "tokens.html").exists()
    logits = tiny_fine_tuned.logits_one_by_one(
        tiny.models["stsb"], glue.read_stsb(tiny.data, "dev")
    )
    shares = special.softmax(logits, axis=-1)
    expected = shares @ np.arange(6)
    scores = conftest.SCORES
    assert metrics == {
        "pearson": pytest.approx(
            stats.pearsonr(scores, expected).statistic, abs=1e-4
        ),
        "spearman": pytest.approx(stats.spearmanr(scores, expected).statistic),
    }
    assert (tmp_path / "plots" / "scores.png").read_bytes()[:4] == PNG
    assert not (tmp_path / "plots" / "confusion.png").exists()
    differences = []
    rows = read(tmp_path / "predictions.tsv", "012345")
    for i, (row, found) in rows.items():
        assert found == pytest.approx(shares[i].tolist(), abs=1e-4)
        assert float(row["label"]) == scores[i]
        assert float(row["prediction"]) == pytest.approx(expected[i], abs=1e-3)
        differences.append(float(row["error"]))
    assert differences == sorted(differences, reverse=True)


def test_another_preset_of_the_same_name_is_measured(tiny, tmp_path):
    preset = shutil.copytree(tiny.folder / "cola", tmp_path / "cola")
    data = shutil.copytree(tiny.data, tmp_path / "data")
    evaluate = functools.partial(
        tiny_runs.run, "evaluate", preset, tmp_path / "dev", data
    )
    first = evaluate()
    path = preset / "preset"
    before = {file.name: file.stat() for file in path.iterdir()}
    model = task_model.GPT1TaskModel.from_preset(str(path))
    bias = model.head.dense.bias
    bias.assign(np.array([9.0, -9.0], "float32"))
    presets.save(model, path)
    for name, state in before.items():
        if (path / name).is_file():
            os.utime(path / name, ns=(state.st_atime_ns, state.st_mtime_ns))
    skipped = tmp_path / "dev" / "skipped_rows.tsv"  # of other rows
    skipped.touch()
    again = evaluate()
    assert again["metrics"] != first["metrics"] and not skipped.exists()
    # And so are other rows.
    rows = (data / "glue/CoLA/dev.tsv").read_text().splitlines(True)
    (data / "glue/CoLA/dev.tsv").write_text("".join(rows[:20]))
    assert evaluate()["num_examples"] == 20
    # And a lost table is written again.
    table = tmp_path / "dev" / "predictions.tsv"
    before = table.read_bytes()
    table.unlink()
    evaluate()
    assert table.read_bytes() == before
