import csv

import numpy as np
import pytest
import sklearn.metrics
from scipy import special
from scipy import stats

from gpt1_keras import results
from gpt1_keras.data.readers import glue
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs
from tests.runs import conftest

PNG = b"\x89PNG"


def read(path, names):
    """Return the rows of a table, and of each {name: probability}."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(
            csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        )
    shares = [
        {name: float(row[f"probability_of_{name}"]) for name in names}
        for row in rows
    ]
    return zip(rows, shares)


@pytest.fixture(scope="module")
def cola(tiny, tmp_path_factory):
    """The workdir of CoLA's dev split; tests do not change it."""
    workdir = tmp_path_factory.mktemp("cola_dev")
    tiny_fine_tuned.succeed(
        "gin/evaluate.gin",
        workdir,
        PRESET=str(tiny.folder / "cola"),
        DATA_DIR=str(tiny.data),
    )
    return workdir


def test_metrics_are_those_of_examples_scored_one_by_one(tiny, cola):
    examples = glue.read_cola(tiny.data, "dev")
    truth = [int(example.label) for example in examples]
    logits = tiny_fine_tuned.logits_one_by_one(tiny.models["cola"], examples)
    predicted = logits.argmax(-1)
    assert len(set(predicted)) == 2
    found = results.read(cola)
    assert found["metrics"] == {
        "matthews": pytest.approx(
            sklearn.metrics.matthews_corrcoef(truth, predicted)
        ),
        "accuracy": pytest.approx(np.mean(predicted == truth)),
    }
    share = np.mean(truth)
    assert found["majority"] == {
        "matthews": 0.0,
        "accuracy": pytest.approx(max(share, 1 - share)),
    }
    assert (found["run"], found["task"]) == ("evaluate", "cola")
    assert (found["split"], found["num_examples"]) == ("dev", 40)
    assert found["paper"] == {"matthews": 0.454}
    assert found["preset"] == str(tiny.folder / "cola" / "preset")
    assert (cola / "plots" / "confusion.png").read_bytes()[:4] == PNG
    assert not (cola / "plots" / "scores.png").exists()


def test_predictions_have_probabilities_worst_first(tiny, cola):
    examples = glue.read_cola(tiny.data, "dev")
    expected = special.softmax(
        tiny_fine_tuned.logits_one_by_one(tiny.models["cola"], examples),
        axis=-1,
    )
    indices, of_labels = [], []
    for row, shares in read(cola / "predictions.tsv", "01"):
        i = int(row["row"])
        example, share = examples[i], expected[i]
        assert (row["text"], row["label"]) == (example.text, example.label)
        assert row["prediction"] == str(share.argmax())
        assert shares == pytest.approx(
            dict(zip("01", share.tolist(), strict=True)), abs=1e-4
        )
        indices.append(i)
        of_labels.append(float(row["label_probability"]))
    assert sorted(indices) == list(range(len(examples)))
    assert of_labels == sorted(of_labels)


def test_scores(tiny, tmp_path):
    stsb = tiny.folder / "stsb"
    found = tiny_runs.evaluate(tmp_path, stsb, tiny.data, num_viewed=0)
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
    for row, found in read(tmp_path / "predictions.tsv", "012345"):
        i = int(row["row"])
        assert found == pytest.approx(
            dict(zip("012345", shares[i].tolist())), abs=1e-4
        )
        assert float(row["label"]) == scores[i]
        assert float(row["prediction"]) == pytest.approx(expected[i], abs=1e-3)
        differences.append(float(row["error"]))
    assert differences == sorted(differences, reverse=True)
