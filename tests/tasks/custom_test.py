import re
import types

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.data import transforms
from gpt1_keras.evaluation import scoring
from gpt1_keras.layers import heads
from gpt1_keras.tasks import custom
from gpt1_keras.tasks import task as task_lib
from tests.reference import data_files


@pytest.fixture
def build(tmp_path):
    """Write a train file of JSON rows and build its task."""

    def build(rows, **arguments):
        data_files.write(tmp_path, "train.jsonl", rows)
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
def test_families(build, family, train, transform, head, space, metric):
    for task in (build(train), build(train, family=family)):
        assert (task.name, task.transform) == ("custom", transform)
        assert task.label_space.build_head is head
        assert isinstance(task.label_space, space)
        found = task.read(None, "train") + task.read(None, "dev")
        assert sorted(e.text for e in found) == ["t0", "t1", "t2", "t3"]
        truth = np.array([task.label_space.value(e) for e in found])
        name, value = next(iter(task.measure(found, truth).items()))
        assert (name, value) == (metric, pytest.approx(1))
        labelled = types.SimpleNamespace(task=task, examples=found)
        table = scoring.Labelled.confusion(labelled, np.zeros((4, 6)))
        # Rows are labels: two of each class, all predicted as the first.
        counts = [[2, 0], [2, 0]] if space is task_lib.Classes else None
        assert table.get("confusion") == counts


def test_label_spaces(build, tmp_path):
    train = rows(1, 2, 2, 1, text_pair="so")
    assert build(train).label_space.class_names == ("1", "2")
    space = build(train, family="similarity", low=0).label_space
    assert space.score_range == [0, 2]
    for arguments, expected in (
        ({}, (task_lib.ScoreDistribution, 0, 5)),
        ({"high": 10}, (task_lib.ScoreDistribution, 0, 10)),
        ({"low": -1, "high": 10}, (task_lib.Score, -1, 10)),
        ({"low": -0.5}, (task_lib.Score, -0.5, 5)),
    ):
        space = build(SCORES, **arguments).label_space
        assert (type(space), *space.score_range) == expected
    below = rows(-5, -1.5, -3.5, -4, text_pair="so")
    assert build(below, high=0).label_space.score_range == [-5, 0]
    # The train file names the classes.
    (tmp_path / "dev.jsonl").write_text('{"text": "d", "label": "b"}\n')
    task = build(rows("c", "a", "b", "a"), dev="dev.jsonl", test="dev.jsonl")
    assert task.has_labelled_test and not build(SINGLE).has_labelled_test
    assert task.label_space.class_names == ("a", "b", "c")
    assert [e.label for e in task.read(tmp_path, "dev")] == ["b"]


def test_weights_of_classes_and_the_metric_of_the_best_epoch(
    build, tmp_path, caplog
):
    few = rows(*"ab" * 2, *"b" * 36)
    caplog.set_level("INFO", logger="absl")
    task = build(few, class_weights="balanced")
    assert "class weights: 'a' 14.5, 'b' 0.5179" in caplog.text
    labels = [e.label for e in task.read(tmp_path, "train")]
    assert (labels.count("a"), labels.count("b")) == (1, 28)
    assert task.label_space.loss.keywords["class_weights"] == (
        29 / (2 * 1),
        29 / (2 * 28),
    )
    truth = [task.label_space.value(e) for e in task.read(tmp_path, "dev")]
    # "a" has less than a tenth of the rows.
    assert "class 'a' has only 1 of the 29 training rows in " in caplog.text
    assert "the main metric is macro_f1 (custom.custom.metric)" in caplog.text
    measured = task.measure(task.read(tmp_path, "dev"), truth)
    assert list(measured) == ["macro_f1", "accuracy"]
    task = build(few, metric="accuracy", class_weights=(2, 0.5))
    assert task.label_space.loss.keywords["class_weights"] == (2.0, 0.5)
    tenth = build(rows(*"a" * 4, *"b" * 36))  # three of thirty
    assert task.main_metric == "accuracy" and tenth.main_metric is None
    assert build(SCORES, metric="spearman").main_metric == "spearman"


def test_fractions_as_labels_of_single_texts_cause_a_warning(build, caplog):
    task = build(rows("1.5", "2", "2", "1.5"))
    assert task.label_space.class_names == ("1.5", "2")
    assert "labels such as '1.5' are learned as names of" in caplog.text
    caplog.clear()
    build(rows("1.5", "2", "2", "1.5"), family="classification")
    build(rows("1.0", "2", "2", "1.0"))
    build(rows("1.5", "old", "old", "1.5"))
    assert not caplog.text


@pytest.mark.parametrize(
    "train, arguments, message",
    [
        (SINGLE, {"family": "pair_classification"}, "no column 'text_pair'"),
        (PAIRS, {"family": "classification", "text_pair": "text_pair"}, "takes no `text_pair`"),
        (CHOICES, {"family": "classification", "choices": "choices"}, "takes no `choices`"),
        (SCORES, {"low": 1}, "line 1: 'label' is 0.0, outside 1 to 5.0"),
        (SCORES, {"high": 4}, "line 3: 'label' is 5.0, outside 0.0 to 4"),
        (SCORES, {"low": 5, "high": 1.0}, "`low` is 5: give less than `high`, 1.0"),
        (SINGLE, {"low": 1}, "'classification' takes no `low`"),
        (SINGLE, {"text_pair": "label"}, "column 'label' is given twice"),
        (SCORES, {"class_weights": "balanced"}, "'similarity' takes no `class_weights`"),
        (SINGLE, {"class_weights": (1.0,)}, "has 1 weights, but there are 2"),
        (CHOICES, {"metric": "macro_f1"}, "choice is measured by accuracy"),
        (rows("a", "a", "b"), {}, "line 3: 'label' is 'b', which only one text has"),
        (rows("a", "a", "a"), {}, "has only the label 'a'"),
        (rows("3", "1,5", "-", text_pair="so"), {}, "'1,5', have decimal commas"),
        (rows(3, 1.5, "-", "nan", text_pair="so"), {}, "line 3: 'label' is '-': give a number"),
    ],
)  # fmt: skip
def test_mistakes_are_found_when_the_task_is_built(
    build, train, arguments, message
):
    with pytest.raises(errors.InputError, match=re.escape(message)):
        build(train, **arguments)


def test_a_class_whose_rows_are_all_held_out(build):
    """As where each of its texts first occurs with another label."""
    train = [*rows("a", "a", "a", "a"), {"text": "t0", "label": "b"}]
    weights = [
        build(
            train, class_weights="balanced", seed=i
        ).label_space.loss.keywords["class_weights"]
        for i in range(6)
    ]
    assert len(set(weights)) > 1 and min(map(min, weights)) > 0


def test_labels_are_read_as_those_of_the_preset(tmp_path, caplog):
    path = tmp_path / "rows.csv"
    path.write_text("text,text_pair,label\na,b,1\nc,d,0\n")
    cases = (["0", "1"], None, ["1", "0"]), ([], [0, 5], [1.0, 0.0])
    for words, scores, expected in cases:
        preset = types.SimpleNamespace(
            transform="similarity",
            label_words=words,
            score_range=scores,
            is_regression=False,
        )
        columns = {"text_pair": None, "choices": None, "label": "label"}
        task = custom.of_preset(preset, file=path, text="text", **columns)
        assert [e.label for e in task.read(None, "test")] == expected
    assert not caplog.text
    path.write_text("text,text_pair,kind\na,b,1\n")
    task = custom.of_preset(preset, file=path, text="text", **columns)
    assert [e.label for e in task.read(None, "test")] == [None]
    lacking = (
        "no column 'label' to score by (found: 'text', 'text_pair', 'kind')"
    )
    assert lacking in caplog.text
