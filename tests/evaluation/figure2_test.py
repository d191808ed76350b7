import csv
import json

import gin
import pytest

from gpt1_keras import config
from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import figure2
from tests.reference import fake_workdirs

CONSTANTS = {
    "sst2": {
        "metric": "accuracy",
        "random": 0.5,
        "state_of_the_art": 0.9,
        "source": "a book",
    },
    "cola": {
        "metric": "matthews",
        "random": 0.0,
        "state_of_the_art": 0.4,
        "source": "a book",
    },
}


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ((0.5, 0.5, 0.9), 0.0),
        ((0.9, 0.5, 0.9), 1.0),
        ((0.6, 0.5, 0.9), 0.25),
        ((0.4, 0.5, 0.9), -0.25),
        ((0.1, 0.0, 0.4), 0.25),
    ],
)
def test_relative_score(arguments, expected):
    assert figure2.relative_score(*arguments) == pytest.approx(expected)


def test_probes_while_pretraining(tmp_path):
    fake_workdirs.pretrain(
        tmp_path / "lstm",
        [
            {"step": 1, "loss": 3.0, "sst2_accuracy": 0.1},
            {"step": 2, "split": "probes", "sst2_accuracy": 0.7},
            {"step": 4, "split": "probes", "cola_matthews": 0.1},
        ],
        lstm=True,
    )
    rows = figure2.probe_rows(comparison.find_runs([tmp_path]), CONSTANTS)
    shown = [
        (row["backbone"], row["probe"], row["updates"], row["score"])
        for row in rows
    ]
    assert shown == [("lstm", "sst2", 2, 0.7), ("lstm", "cola", 4, 0.1)]
    assert [row["relative"] for row in rows] == pytest.approx([0.5, 0.25])


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"state_of_the_art": 0.5}, "are equal"),
        ({"metric": None}, "no 'metric'"),
        ({"source": None}, "no 'source'"),
        ({"random": "0.5"}, "'random' is '0.5'"),
    ],
)
def test_wrong_constants(change, expected):
    wrong = CONSTANTS["sst2"] | change
    wrong = {key: value for key, value in wrong.items() if value is not None}
    with pytest.raises(errors.InputError, match=f"sst2.*{expected}"):
        figure2.probe_rows([], {"sst2": wrong})


@pytest.mark.parametrize("wrong", [3, "sst2", {"sst2": 0.5}])
def test_constants_are_dicts_of_dicts(wrong):
    with pytest.raises(errors.InputError, match="^PROBE_CONSTANTS.*gin/report"):
        figure2.probe_rows([], wrong)


def test_constants_of_gin_are_of_the_four_probes_and_have_a_source():
    config.parse(["gin/report.gin"], [])
    constants = gin.query_parameter("%PROBE_CONSTANTS")
    gin.clear_config()
    assert list(constants) == ["sst2", "cola", "race", "dprd"]
    assert figure2.probe_rows([], constants) == []
    assert all(each["source"] for each in constants.values())


def layer_rows(folder):
    runs = comparison.find_runs([folder])
    results = comparison.over_seeds(r for r in runs if r.kind == "finetune")
    evaluations = [run for run in runs if run.kind == "evaluate"]
    return figure2.layer_rows(results, evaluations)


def write_layers(folder, task, numbers, *, num_layers=2, **options):
    for number in numbers:
        fake_workdirs.finetune(
            folder / f"{task}_{number}_of_{num_layers}",
            task,
            {"accuracy": 0.5 + 0.01 * (2 if number is None else number)},
            num_layers=num_layers,
            NUM_TRANSFERRED_LAYERS=number,
            **options,
        )


def test_layers_from_nothing_to_all(tmp_path):
    write_layers(tmp_path, "mnli", (None, 1, 0, -1))
    rows = layer_rows(tmp_path)
    assert [row["num_transferred_layers"] for row in rows] == [-1, 0, 1, 2]
    assert [row["accuracy"] for row in rows] == pytest.approx(
        [0.49, 0.5, 0.51, 0.52]
    )
    assert {row["split"] for row in rows} == {"dev"}
    assert {(row["task"], row["num_seeds"]) for row in rows} == {("mnli", 1)}


def test_other_ablations_are_no_layers(tmp_path):
    """All and nothing alone, no auxiliary LM, an LSTM: no curve."""
    write_layers(tmp_path, "rte", (None, -1))
    write_layers(tmp_path, "mnli", (None, 1, -1), LM_LOSS_WEIGHT=0.0)
    write_layers(tmp_path, "race", (None, 1, -1), lstm=True)
    assert layer_rows(tmp_path) == []


def test_networks_of_other_sizes_are_no_points_of_a_curve(tmp_path):
    """All layers of a small network are not some of a larger one."""
    write_layers(tmp_path, "mnli", (None, 0, 1, 3, -1), num_layers=12)
    write_layers(tmp_path, "mnli", (None, -1, 0), num_layers=2)
    rows = layer_rows(tmp_path)
    layers = [row["num_transferred_layers"] for row in rows]
    assert layers == [-1, 0, 1, 3, 12]
    assert all("_of_12" in row["workdir"] for row in rows)
    write_layers(tmp_path, "rte", (None, -1), num_layers=12)
    write_layers(tmp_path, "rte", (None, -1), num_layers=2)
    assert {row["task"] for row in layer_rows(tmp_path)} == {"mnli"}


def test_seeds_and_training_accuracy(tmp_path):
    write_layers(tmp_path, "race", (0, 1))
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.7}]
    folder = fake_workdirs.finetune(
        tmp_path / "all", "race", metrics, num_layers=2
    )
    # Seed 1: in its own result, whatever the aggregate says.
    for name, value in (("seed_1/result.json", 0.8), ("result.json", 0.1)):
        path = folder / name
        found = json.loads(path.read_text())
        found["train_metrics"] = {"accuracy": value}
        fake_workdirs.write_json(path, found)
    # Seed 2: by an evaluation of its weights.
    for split, value in (("train", 0.9), ("dev", 0.1)):
        fake_workdirs.write_json(
            tmp_path / split / "result.json",
            {
                "run": "evaluate",
                "task": "race",
                "split": split,
                "metrics": {"accuracy": value},
                "seed": None,
                "preset": str(folder / "seed_2" / "preset"),
            },
        )
    rows = {
        (row["num_transferred_layers"], row["split"]): row
        for row in layer_rows(tmp_path)
    }
    assert rows.keys() == {(0, "dev"), (1, "dev"), (2, "dev"), (2, "train")}
    train, dev = rows[2, "train"], rows[2, "dev"]
    assert train["accuracy"] == pytest.approx(0.85)
    assert (train["lowest"], train["highest"]) == (0.8, 0.9)
    assert dev["accuracy"] == pytest.approx(0.6)
    assert (dev["lowest"], dev["highest"], dev["num_seeds"]) == (0.5, 0.7, 2)


def test_csv(tmp_path):
    rows = [{"a": 1, "b": "x, y"}, {"a": 0.5, "b": None}]
    path = figure2.write_csv(rows, tmp_path / "rows.csv")
    with open(path, newline="") as file:
        assert list(csv.reader(file)) == [
            ["a", "b"],
            ["1", "x, y"],
            ["0.5", ""],
        ]
