import numpy as np
import pytest

from gpt1_keras.data import transforms
from gpt1_keras.layers import heads
from gpt1_keras.tasks import benchmarks
from gpt1_keras.tasks import task

FILES = {
    "mrpc": (
        "MRPC/dev.tsv",
        "Quality\t#1 String\t#2 String\n1\tA.\tB.\n0\tC.\tD.\n",
    ),
    "qqp": (
        "QQP/dev.tsv",
        "question1\tquestion2\tis_duplicate\nA.\tB.\t1\nC.\tD.\t0\n",
    ),
    "stsb": (
        "STS-B/dev.tsv",
        "sentence1\tsentence2\tscore\nA.\tB.\t4.5\nC.\tD.\t0.5\n",
    ),
}


def read(folder, name, found):
    file, content = FILES[name]
    path = folder / file
    path.parent.mkdir()
    path.write_text(content)
    rows = found.read(folder, "dev")
    assert [(row.text, row.text_pair) for row in rows] == [
        ("A.", "B."),
        ("C.", "D."),
    ]
    return rows


@pytest.mark.parametrize("name", ["mrpc", "qqp"])
def test_paraphrases(tmp_path, name):
    found = getattr(benchmarks, name)()
    assert found.name == name
    assert found.transform is transforms.similarity
    assert found.build_head is heads.SumHead and found.target.num_outputs == 2
    rows = read(tmp_path, name, found)
    measured = found.measure(rows, [1, 1])
    # One hit, one false alarm.
    assert measured == pytest.approx({"f1": 2 / 3, "accuracy": 0.5})
    assert found.main_metric(measured) == measured["f1"]


@pytest.mark.parametrize(
    "regression, kind, logits",
    [
        (
            False,
            task.ScoreDistribution,
            np.log(np.array([[1, 1, 1, 1, 8, 8], [9, 8, 1, 1, 1, 1]])),
        ),
        (True, task.Score, np.array([[4.0], [1.0]])),
    ],
)
def test_scores(tmp_path, regression, kind, logits):
    found = benchmarks.stsb(regression=regression)
    assert type(found.target) is kind
    assert found.target.num_outputs == logits.shape[1]
    assert found.transform is transforms.similarity
    rows = read(tmp_path, "stsb", found)
    measured = found.measure(rows, found.target.predict(logits))
    assert measured == pytest.approx({"pearson": 1.0, "spearman": 1.0})
    assert found.main_metric(measured) == measured["pearson"]


def test_scores_are_a_distribution_unless_told():
    assert type(benchmarks.stsb().target) is task.ScoreDistribution
