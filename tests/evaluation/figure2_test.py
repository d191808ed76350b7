import json
import re

import pytest
from matplotlib import image

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import figure2
from tests.reference import fake_workdirs

SST2 = {"metric": "accuracy", "random": 0.5, "state_of_the_art": 0.9}
COLA = {"metric": "matthews", "random": 0.0, "state_of_the_art": 0.4}
CONSTANTS = {
    "sst2": SST2 | {"source": "a book"},
    "cola": COLA | {"source": "a book"},
}


def test_zero_shot_scores_while_pretraining(tmp_path):
    fake_workdirs.pretrain(
        tmp_path / "lstm",
        [
            {"step": 1, "loss": 3.0, "sst2_accuracy": 0.1},
            {"step": 2, "split": "probes", "sst2_accuracy": 0.7},
            {"step": 3, "split": "probes", "sst2_accuracy": 0.4},
            {"step": 4, "split": "probes", "cola_matthews": 0.1},
        ],
        lstm=True,
    )
    rows = figure2.zero_shot_rows(comparison.find([tmp_path])[0], CONSTANTS)
    names = ("backbone", "task", "step", "score")
    assert [tuple(row[name] for name in names) for row in rows] == [
        *(("lstm", "sst2", 2, 0.7), ("lstm", "sst2", 3, 0.4)),
        ("lstm", "cola", 4, 0.1),
    ]
    relative = [row["relative"] for row in rows]
    assert relative == pytest.approx([0.5, -0.25, 0.25])


def test_constants():
    for wrong, expected in (
        (0.5, "sst2 has no"),
        (CONSTANTS["sst2"] | {"state_of_the_art": 0.5}, "are equal"),
        (CONSTANTS["sst2"] | {"source": None}, "'source' is None"),
        (CONSTANTS["sst2"] | {"random": "0.5"}, "'random' is '0.5'"),
    ):
        expected = f"sst2.*{expected}|{expected}"
        with pytest.raises(
            errors.InputError, match=f"({expected}).*report.gin"
        ):
            figure2.zero_shot_rows([], {"sst2": wrong})
    found = bindings.read(["gin/report.gin"], [])
    constants = found.macros["PROBE_CONSTANTS"]
    assert list(constants) == ["sst2", "cola", "race", "dprd"]
    assert figure2.zero_shot_rows([], constants) == []
    assert all(each["source"] for each in constants.values())


def layer_rows(folder):
    runs, _ = comparison.find([folder])
    results = comparison.join_seeds(r for r in runs if r.kind == "finetune")
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
    # No curves: all and nothing alone, no auxiliary LM, an LSTM.
    write_layers(tmp_path, "rte", (None, -1))
    write_layers(tmp_path, "qnli", (None, 1, -1), LM_LOSS_WEIGHT=0.0)
    write_layers(tmp_path, "race", (None, 1, -1), lstm=True)
    rows = layer_rows(tmp_path)
    assert [row["num_transferred_layers"] for row in rows] == [-1, 0, 1, 2]
    accuracies = [row["accuracy"] for row in rows]
    assert accuracies == pytest.approx([0.49, 0.5, 0.51, 0.52])
    facts = {(row["task"], row["split"], row["num_seeds"]) for row in rows}
    assert facts == {("mnli", "dev", 1)}


def test_networks_of_different_sizes_share_no_curve(tmp_path):
    """All layers of a small network are not some of a larger one."""
    write_layers(tmp_path, "mnli", (None, 0, 1, 3, -1), num_layers=12)
    write_layers(tmp_path, "mnli", (None, -1, 0), num_layers=2)
    for num_layers in (12, 2):
        write_layers(tmp_path, "rte", (None, -1), num_layers=num_layers)
    rows = layer_rows(tmp_path)
    layers = [row["num_transferred_layers"] for row in rows]
    assert layers == [-1, 0, 1, 3, 12]
    assert all(re.search("mnli.*_of_12", row["workdir"]) for row in rows)


def test_seeds_and_training_accuracy(tmp_path):
    write_layers(tmp_path, "race", (0, 1))
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.7}]
    folder = fake_workdirs.finetune(
        tmp_path / "all", "race", metrics, num_layers=2
    )
    # Seed 1: in its own result, whatever the aggregate says.
    for name, value in (("seed_1/result.json", 0.8), ("result.json", 0.1)):
        found = json.loads((folder / name).read_text())
        found["train_metrics"] = {"accuracy": value}
        fake_workdirs.write_json(folder / name, found)
    # Seed 2: by an evaluation of its weights.
    for split, value in (("train", 0.9), ("dev", 0.1)):
        record = {"run": "evaluate", "task": "race", "split": split}
        record["metrics"] = {"accuracy": value}
        record["preset"] = str(folder / "seed_2" / "preset")
        fake_workdirs.write_json(tmp_path / split / "result.json", record)
    names = (
        "num_transferred_layers",
        "split",
        "lowest",
        "highest",
        "num_seeds",
    )
    rows = layer_rows(tmp_path)
    assert [tuple(row[name] for name in names) for row in rows] == [
        *((0, "dev", 0.5, 0.5, 1), (1, "dev", 0.51, 0.51, 1)),
        *((2, "dev", 0.5, 0.7, 2), (2, "train", 0.8, 0.9, 2)),
    ]
    assert [row["accuracy"] for row in rows[2:]] == pytest.approx([0.6, 0.85])


def curves(axes):
    return {
        (line.get_linestyle(), line.get_marker()): list(zip(*line.get_data()))
        for line in axes.lines
        if line.get_marker() != "None"
    }


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def zero_shot_row(backbone, task, step, relative, workdir=None):
    values = (workdir or backbone, backbone, task, step, relative)
    return dict(zip("workdir backbone task step relative".split(), values))


def test_right(tmp_path, figures):
    rows = [
        zero_shot_row(backbone, task, step, level * step / 4000)
        for backbone, level in (("transformer", 1.0), ("lstm", 0.5))
        for task in ("sst2", "cola", "race", "dprd")
        for step in (4000, 1000)
    ]
    path = figure2.draw_right(rows, tmp_path / "right.png")
    ((axes,),) = (figure.axes for figure in figures)
    assert axes.get_xscale() == "log"
    found = curves(axes)
    assert len(found) == 8
    assert found["-", "o"] == [(1000, 0.25), (4000, 1.0)]
    assert found["--", "o"] == [(1000, 0.125), (4000, 0.5)]
    tasks = ["SST-2", "CoLA", "RACE", "DPRD"]
    assert labels(axes) == [*tasks, "Transformer", "LSTM"]
    assert image.imread(path).shape[1] > 600


def test_right_shows_the_longest_run_of_a_backbone(tmp_path, figures):
    rows = [
        zero_shot_row("transformer", "sst2", 10, 0.1, "short"),
        zero_shot_row("transformer", "sst2", 20, 0.2, "long"),
        zero_shot_row("transformer", "sst2", 20, 0.3, "late"),
        zero_shot_row("lstm", "sst2", 5, 0.4, "other"),
    ]
    assert figure2.drawn_runs(rows) == {"long", "other"}
    figure2.draw_right(rows, tmp_path / "right.png")
    assert curves(figures[0].axes[0]) == {
        ("-", "o"): [(20, 0.2)],
        ("--", "o"): [(5, 0.4)],
    }


def layer_row(task, split, layers, accuracy, spread=0.0):
    return {
        "task": task,
        "split": split,
        "num_transferred_layers": layers,
        "accuracy": accuracy,
        "lowest": accuracy - spread,
        "highest": accuracy + spread,
    }


def test_left(tmp_path, figures):
    rows = [
        layer_row(task, split, layers, 0.4 + 0.1 * layers, 0.05)
        for task in ("race", "mnli")
        for split in ("dev", "train")
        for layers in (-1, 0, 1)
    ]
    figure2.draw_left(rows, tmp_path / "left.png")
    (axes,) = figures[0].axes
    ticks = [tick.get_text() for tick in axes.get_xticklabels()]
    assert ticks == ["none", "0", "1"]
    found = curves(axes)
    assert {style for style, _ in found} >= {"-", "--"}
    assert [x for x, _ in found["-", "o"]] == [-1, 0, 1]
    assert [y for _, y in found["-", "o"]] == pytest.approx([30, 40, 50])
    assert labels(axes) == ["RACE, dev", "RACE, train", "MNLI, dev", "MNLI, train"]  # fmt: skip
    # Without training accuracy there is one curve.
    rows = [layer_row("race", "dev", layers, 0.5) for layers in (0, 1, 2)]
    assert figure2.draw_left(rows, tmp_path / "left.png").exists()
    assert list(curves(figures[1].axes[0])) == [("-", "o")]
