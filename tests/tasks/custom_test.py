import json
import types

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.layers import heads
from gpt1_keras.tasks import custom
from gpt1_keras.tasks import task as task_lib


@pytest.fixture
def build(tmp_path):
    """Write a train file of JSON rows and build its task."""

    def build(rows, **arguments):
        (tmp_path / "train.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
        arguments = {"dev_fraction": 0.25, "seed": 1} | arguments
        return custom.custom(
            train="train.jsonl", data_dir=tmp_path, **arguments
        )

    return build


def rows(*labels, **fields):
    return [
        {"text": f"t{i}", "label": label, **fields}
        for i, label in enumerate(labels)
    ]


SINGLE = rows("pos", "neg", "neg", "pos")
PAIRS = rows("yes", "no", "no", "yes", text_pair="so")
SCORES = rows(0, 1.5, 5, 3, text_pair="so")
CHOICES = rows(0, 1, "b", "a", choices=["a", "b"])


@pytest.mark.parametrize(
    "family, train, transform, head, space, metric",
    [
        ("classification", SINGLE, transforms.classification, heads.SumHead, task_lib.Classes, "accuracy"),
        ("pair_classification", PAIRS, transforms.entailment, heads.SumHead, task_lib.Classes, "accuracy"),
        ("similarity", SCORES, transforms.similarity, heads.SumHead, task_lib.ScoreDistribution, "pearson"),
        ("multiple_choice", CHOICES, transforms.multiple_choice, heads.ChoiceHead, task_lib.Choice, "accuracy"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_given", [True, False])
def test_families(
    build, family, train, transform, head, space, metric, is_given, tmp_path
):
    task = build(train, family=family if is_given else None)
    assert task.name == "custom"
    assert task.transform is transform
    assert task.build_head is head
    assert isinstance(task.label_space, space)
    examples = task.read(tmp_path, "train") + task.read(tmp_path, "dev")
    assert sorted(e.text for e in examples) == ["t0", "t1", "t2", "t3"]
    truth = np.array([task.label_space.value(e) for e in examples])
    name, value = next(iter(task.measure(examples, truth).items()))
    assert (name, value) == (metric, pytest.approx(1))


def test_label_spaces(build, tmp_path):
    train = rows(0, 2, 2, 0, text_pair="so")
    assert build(train).label_space.class_names == ("0", "2")
    space = build(train, family="similarity").label_space
    assert space.score_range == [0, 2]
    for arguments, expected in (
        ({}, (task_lib.ScoreDistribution, 0, 5)),
        ({"high": 10}, (task_lib.ScoreDistribution, 0, 10)),
        ({"low": -1, "high": 10}, (task_lib.Score, -1, 10)),
        ({"low": -0.5}, (task_lib.Score, -0.5, 5)),
    ):
        space = build(SCORES, **arguments).label_space
        assert (type(space), *space.score_range) == expected
    # The train file names the classes.
    (tmp_path / "dev.jsonl").write_text('{"text": "d", "label": "b"}\n')
    task = build(rows("c", "a", "b", "a"), dev="dev.jsonl")
    assert task.label_space.class_names == ("a", "b", "c")
    assert [e.label for e in task.read(tmp_path, "dev")] == ["b"]


def test_weights_of_classes_and_the_metric_of_the_best_epoch(build, tmp_path):
    few = rows(*"ab" * 2, *"b" * 36)
    task = build(few, class_weights="balanced")
    labels = [e.label for e in task.read(tmp_path, "train")]
    assert (labels.count("a"), labels.count("b")) == (1, 28)
    assert task.label_space.loss.weights == (29 / (2 * 1), 29 / (2 * 28))
    truth = [task.label_space.value(e) for e in task.read(tmp_path, "dev")]
    # "a" has less than a tenth of the rows.
    measured = task.measure(task.read(tmp_path, "dev"), truth)
    assert list(measured) == ["macro_f1", "accuracy"]
    task = build(few, metric="accuracy", class_weights=(2, 0.5))
    assert task.label_space.loss.weights == (2.0, 0.5)
    assert task.main_metric == "accuracy" and build(SINGLE).main_metric is None
    assert build(SCORES, metric="spearman").main_metric == "spearman"
    for train, arguments, message in (
        (SINGLE, {"class_weights": (1.0,)}, "has 1 weights, but there are 2"),
        (SCORES, {"class_weights": "balanced"}, "similarity has no classes"),
        (CHOICES, {"metric": "macro_f1"}, "choice is measured by accuracy"),
    ):
        with pytest.raises(errors.InputError, match=message):
            build(train, **arguments)


def test_columns_of_other_names(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("story,end_1,end_2,right\nA,b,c,0\nD,e,f,f\n")
    task = custom.custom(
        train=str(path),
        text="story",
        choices=["end_1", "end_2"],  # as gin may give it
        label="right",
        dev_fraction=0.5,
        seed=0,
    )
    both = task.read(None, "train") + task.read(None, "dev")
    found = {(e.text, e.choices, e.label) for e in both}
    assert found == {("A", ("b", "c"), 0), ("D", ("e", "f"), 1)}


def test_second_texts_and_metrics(build, tmp_path):
    task = build(PAIRS, family="classification")
    assert {e.text_pair for e in task.read(tmp_path, "train")} == {""}
    train = rows(0, 1, 1, 0, text_pair="why?", choices=["a", "b"])
    task = build(train)
    assert task.transform is transforms.multiple_choice
    assert {e.text_pair for e in task.read(tmp_path, "train")} == {"why?"}
    metric = {"always": 1.0}.copy
    assert build(SINGLE, metrics=(metric,)).metrics == (metric,)


@pytest.mark.parametrize(
    "train, arguments, message",
    [
        (SINGLE, {"family": "pair_classification"}, "no column 'text_pair'"),
        (SINGLE, {"family": "similarity"}, "no column 'text_pair'"),
        (SINGLE, {"family": "multiple_choice"}, "no column 'choices'"),
        (SINGLE, {"text_pair": "hypothesis"}, "no column 'hypothesis'"),
        (SINGLE, {"text": "sentence"}, "no column 'sentence'"),
        (SINGLE, {"label": "gold"}, "no column 'gold'"),
        (PAIRS, {"label": "gold"}, "no column 'gold'"),
        (PAIRS, {"family": "similarity"}, "line 1: label 'yes' is not a number"),
        (PAIRS, {"family": "classification", "text_pair": "text_pair"}, "takes no PAIR_COLUMN"),
        (CHOICES, {"family": "classification", "choices": "choices"}, "takes no CHOICES_COLUMNS"),
        (SCORES, {"low": 1}, "line 1: score 0.0, outside 1 to 5.0"),
        (rows("a", "a"), {}, "only the class 'a'"),
        (rows("a", "a", "b"), {}, "line 3: one text of class 'b'"),
        (rows(0, 2, choices=["a", "b"]), {}, "line 2: label 2 for 2 choices"),
    ],
)  # fmt: skip
def test_mistakes_are_found_when_the_task_is_built(
    build, train, arguments, message
):
    with pytest.raises(errors.InputError) as caught:
        build(train, **arguments)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_mistakes_in_other_files_and_no_train_file(build, tmp_path):
    (tmp_path / "other.jsonl").write_text('{"text": "a", "label": "bad"}\n')
    for split in ("dev", "test"):
        with pytest.raises(errors.InputError, match="line 1: label 'bad'"):
            build(SINGLE, **{split: "other.jsonl"})
    with pytest.raises(errors.InputError, match="TRAIN_FILE"):
        custom.custom(train=None, dev_fraction=0.1, seed=0)


@pytest.mark.parametrize(
    "score_range, is_regression, expected",
    [
        ([0.0, 5.0], False, task_lib.ScoreDistribution),
        ([0.0, 5.0], True, task_lib.Score),
        ([0.0, 0.7], True, task_lib.Score),
    ],
)
def test_score_of_a_preset(tmp_path, score_range, is_regression, expected):
    file = tmp_path / "my.jsonl"
    row = {"text": "a", "text_pair": "b", "label": 0.5}
    file.write_text(json.dumps(row) + "\n")
    preprocessor = types.SimpleNamespace(
        transform="similarity",
        score_range=score_range,
        label_words=(),
        is_regression=is_regression,
        task="stsb",
    )
    columns = dict(text="text", text_pair=None, choices=None, label="label")
    task = custom.of_preset(preprocessor, file=file, **columns)
    assert type(task.label_space) is expected
    assert (task.name, task.is_own) == ("custom", True)
    assert task.label_space.score_range == score_range
    assert len(task.read(None, "test")) == 1
    file.write_text(json.dumps(row | {"label": 7}) + "\n")
    with pytest.raises(errors.InputError, match="line 1: score 7.0, outside"):
        custom.of_preset(preprocessor, file=file, **columns)
