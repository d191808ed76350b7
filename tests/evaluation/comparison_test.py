import os
import pathlib
import re

import pytest

from gpt1_keras import bindings
from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from tests.reference import fake_workdirs

ACCURACY = {"accuracy": 0.5}
# The ways to fine-tune on CoLA.
GIN_FILES = ("gin/finetune/cola.gin", "gin/suite.gin", "gin/grid.gin")


def find(*folders):
    runs, unreadable = comparison.find(folders)
    assert unreadable == []
    return runs


def find_one(folder):
    (run,) = find(folder)
    return run


def results(folder):
    return comparison.join_seeds(find(folder))


def write_result(folder, sha256, **values):
    """Write the `result.json` of a cell, whose config.gin lies above."""
    record = {"run": "finetune", "task": "rte", "seed": 1, "metrics": ACCURACY}
    record |= {"config_sha256": sha256} | values
    fake_workdirs.write_json(folder / "result.json", record)


def test_facts_of_a_fine_tuning(tmp_path):
    fake_workdirs.finetune(tmp_path / "a", "rte", ACCURACY, seed=7)
    run = find_one(tmp_path)
    assert (run.path, run.kind, run.task) == (tmp_path / "a", "finetune", "rte")
    facts = (run.row, run.backbone, run.num_layers, run.is_sample)
    assert facts == ("full", "transformer", 12, False)
    assert run.seeds == {"7": ACCURACY}
    assert run.config == tmp_path / "a" / "config.gin"


@pytest.mark.parametrize(
    "options, row",
    [
        ({"LM_LOSS_WEIGHT": 0.0}, "no_auxiliary_lm"),
        ({"NUM_TRANSFERRED_LAYERS": -1}, "no_pretraining"),
        ({"NUM_TRANSFERRED_LAYERS": 0}, "transferred_0"),
        ({"NUM_TRANSFERRED_LAYERS": 3}, "transferred_3"),
        ({"NUM_TRANSFERRED_LAYERS": 12}, "full"),
        ({"lstm": True, "num_layers": 1}, "lstm"),
        ({"NUM_TRANSFERRED_LAYERS": -1, "LM_LOSS_WEIGHT": 0}, "no_pretraining + no_auxiliary_lm"),
    ],
)  # fmt: skip
def test_rows_of_the_ablation(tmp_path, options, row):
    fake_workdirs.finetune(tmp_path, "rte", ACCURACY, **options)
    assert find_one(tmp_path).row == row


def test_result_comes_before_macros_and_nothing_is_guessed(tmp_path):
    """A config.gin of another run, or no preset: no row."""
    folder = fake_workdirs.finetune(tmp_path / "a", "rte", ACCURACY)
    path = folder / "result.json"
    text = path.read_text()
    path.write_text(text.replace("{", '{"lm_loss_weight": 0.0, ', 1))
    assert find_one(tmp_path).row == "no_auxiliary_lm"
    path.write_text(text)
    (folder / "config.gin").unlink()
    fake_workdirs.write_config(folder, "finetune.finetune", LM_LOSS_WEIGHT=0.5)
    run = find_one(tmp_path)
    assert (run.row, run.bindings, run.is_sample) == (None, None, None)
    assert run.seeds == {"42": ACCURACY}
    folder = fake_workdirs.finetune(tmp_path / "b", "rte", ACCURACY)
    (folder / "preset" / "config.json").unlink()
    assert find(tmp_path / "b")[0].row is None


def test_macros_of_a_grid_do_not_speak_for_its_cells(tmp_path):
    macros = {"LM_LOSS_WEIGHT": 0.5, "NUM_TRANSFERRED_LAYERS": None}
    sha256 = fake_workdirs.write_config(
        tmp_path, "grid.grid", ROWS=("full", "lstm"), **macros
    )
    fake_workdirs.write_preset(tmp_path / "cell")
    write_result(tmp_path / "cell", sha256)
    assert find_one(tmp_path).row is None
    (tmp_path / "cell/preset/config.json").unlink()
    facts = {"lm_loss_weight": 0.0, "backbone": "LSTMBackbone"}
    write_result(tmp_path / "cell", sha256, num_transferred_layers=1, **facts)
    run = find_one(tmp_path)
    assert (run.row, run.num_layers) == ("lstm + no_auxiliary_lm", 1)


@pytest.mark.parametrize("function", ["suite.suite", "grid.grid"])
def test_macros_of_a_suite_speak_for_its_tasks(tmp_path, function):
    """Also those of the time before a suite was a grid of one row."""
    macros = {"LM_LOSS_WEIGHT": 0.0, "NUM_TRANSFERRED_LAYERS": None}
    if function == "grid.grid":
        macros["ROWS"] = ("full",)
    sha256 = fake_workdirs.write_config(tmp_path, function, **macros)
    for task in ("cola", "rte"):
        fake_workdirs.write_preset(tmp_path / task)
        write_result(tmp_path / task, sha256, task=task)
    rows = [(run.task, run.row) for run in find(tmp_path)]
    assert rows == [("cola", "no_auxiliary_lm"), ("rte", "no_auxiliary_lm")]


def test_seeds_belong_to_the_aggregate_above(tmp_path):
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.7}]
    folder = fake_workdirs.finetune(tmp_path / "a", "rte", metrics)
    fake_workdirs.write_lines(folder / "seed_2", [{"step": 3}])
    run = find_one(tmp_path)
    assert run.seeds == {"1": metrics[0], "2": metrics[1]}
    assert run.row == "full"
    assert run.of_seed("2").lines == [{"step": 3}]
    # Before the aggregate is written each seed is a run of its own.
    (folder / "result.json").unlink()
    found = find(tmp_path)
    assert [each.path.name for each in found] == ["seed_1", "seed_2"]
    assert {each.config for each in found} == {folder / "config.gin"}


def test_seeds_of_an_unfinished_cell_have_the_grid_s_configuration(tmp_path):
    sha256 = fake_workdirs.write_config(
        tmp_path, "grid.grid", DATA_DIR="data", SEEDS=(1, 2, 3)
    )
    cell = tmp_path / "no_auxiliary_lm" / "rte"
    facts = {"lm_loss_weight": 0.0, "backbone": "GPT1Backbone"}
    for seed in (1, 2):
        facts |= {"seed": seed, "metrics": {"accuracy": seed / 4}}
        write_result(cell / f"seed_{seed}", sha256, **facts)
    fake_workdirs.write_lines(cell / "seed_3", [{"step": 1, "loss": 2.0}])
    found = find(tmp_path)
    assert {run.config for run in found} == {tmp_path / "config.gin"}
    assert [run.is_sample for run in found] == [False] * 3
    assert [run.row for run in found] == ["no_auxiliary_lm"] * 2 + [None]
    (result,) = comparison.join_seeds(found)
    assert result.values("accuracy") == [0.25, 0.5]


def test_unfinished_pretraining_is_found_by_its_metrics(tmp_path):
    fake_workdirs.write_config(tmp_path, "pretrain.pretrain", NUM_LAYERS=4)
    lines = [{"step": 1, "loss": 2.0}]
    fake_workdirs.write_lines(tmp_path, lines)
    run = find_one(tmp_path)
    assert (run.kind, run.result, run.num_layers) == ("pretrain", {}, 4)
    assert (run.lines, run.seeds) == (lines, {})


def test_inner_folders_and_repetitions_are_left_out(tmp_path, monkeypatch):
    folder = fake_workdirs.finetune(tmp_path / "out/a", "rte", ACCURACY)
    for name in ("checkpoints", "preset", ".hidden"):
        fake_workdirs.write_json(folder / name / "result.json", {"run": "x"})
    fake_workdirs.finetune(tmp_path / "out/b", "cola", {"matthews": 0.1})
    found = find(tmp_path / "out/b", tmp_path, str(tmp_path))
    assert [run.task for run in found] == ["cola", "rte"]
    with pytest.raises(errors.InputError, match="none is not a folder"):
        comparison.find([tmp_path / "none"])
    # Paths are shown as they were given.
    monkeypatch.chdir(tmp_path)
    run = find_one("out/a")
    assert run.path == pathlib.Path("out/a")
    assert run.config == pathlib.Path("out/a/config.gin")


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("result.json", "[1]", r"result\.json:1: damaged"),
        ("result.json", '{"test": {"metrics": 5}}', r"json: damaged, .*'test'"),
        ("config.gin", "A = = 2\n", r"config\.gin: damaged, not valid gin"),
        ("metrics.jsonl", "\0\n", r"metrics\.jsonl:1: damaged"),
        ("preset/config.json", "{", r"config\.json:1: damaged"),
        ("seed_2/result.json", "{}}", r"seed_2/result\.json:1: damaged"),
    ],
)
def test_damaged_workdir_is_listed_and_the_others_are_read(
    tmp_path, name, text, expected
):
    fake_workdirs.finetune(tmp_path / "a", "rte", ACCURACY)
    metrics = [ACCURACY, ACCURACY] if name.startswith("seed") else ACCURACY
    folder = fake_workdirs.finetune(tmp_path / "b", "rte", metrics)
    if name == "config.gin":
        text = (folder / name).read_text() + text
    (folder / name).write_text(text)
    runs, unreadable = comparison.find([tmp_path])
    assert runs[0].path == tmp_path / "a"
    assert unreadable[0][0] == folder
    assert re.search(expected, unreadable[0][1])
    assert "\n" not in unreadable[0][1]


def test_runs_that_differ_in_the_seed_are_joined(tmp_path):
    for seed, value in ((1, 0.5), (2, 0.6), (3, 0.1)):
        metrics = {"accuracy": value}
        fake_workdirs.finetune(tmp_path / str(seed), "rte", metrics, seed=seed)
    # Of a seed that was run twice the first counts.
    fake_workdirs.finetune(tmp_path / "again", "rte", {"accuracy": 0.7}, seed=1)
    more = [{"matthews": 0.9, "x": 1}, {"matthews": 0.8, "x": 1}]
    fake_workdirs.finetune(tmp_path / "other", "cola", more)
    rte, cola = results(tmp_path)
    values = {seed: found["accuracy"] for seed, found in rte.seeds.items()}
    assert values == {"1": 0.5, "2": 0.6, "3": 0.1}
    assert rte.metric == "accuracy" and len(rte.runs) == 4
    assert rte.mean("accuracy") == pytest.approx(0.4)
    assert rte.median("accuracy") == 0.5
    assert rte.span("accuracy") == (0.1, 0.6)
    assert rte.mean("f1") is rte.median("f1") is rte.span("f1") is None
    assert cola.metrics == ["matthews", "x"]
    assert cola.mean("matthews") == pytest.approx(0.85)


def test_metrics_on_test_are_those_of_the_seeds_that_have_them(tmp_path):
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.7}, {"accuracy": 0.6}]
    on_test = [{"accuracy": 0.4}, None, {"accuracy": 0.2}]
    fake_workdirs.finetune(tmp_path, "snli", metrics, on_test=on_test)
    (result,) = results(tmp_path)
    assert result.values("accuracy") == [0.5, 0.7, 0.6]
    assert result.on_test().seeds == {"1": on_test[0], "3": on_test[2]}
    assert result.on_test().span("accuracy") == (0.2, 0.4)
    assert result.on_test().median("f1") is None


def test_other_settings_are_apart(tmp_path):
    for rate in (1e-3, 1e-4):
        fake_workdirs.finetune(
            tmp_path / str(rate), "rte", ACCURACY, PEAK_LEARNING_RATE=rate
        )
    # Runs without metrics are left out.
    fake_workdirs.write_json(
        tmp_path / "x" / "result.json", {"run": "evaluate", "metrics": {}}
    )
    one, other = results(tmp_path)
    assert one.span("accuracy") is None
    assert comparison.differences(one.run, other.run) == ["PEAK_LEARNING_RATE"]


def run_of(name, *settings):
    """Return a `comparison.Run` with the bindings of a gin file."""
    return comparison.Run(
        pathlib.Path(name), {}, bindings.read([name], settings)
    )


def test_one_recipe_in_a_single_run_a_suite_and_a_grid():
    changed = ("TASKS = ('cola',)", "SEEDS = (1, 2)", "WEIGHT_DECAY = 0.5")
    for name in GIN_FILES:
        for other in GIN_FILES:
            runs = run_of(name), run_of(other)
            assert comparison.differences(*runs) == [], (name, other)
            runs = run_of(name), run_of(other, *changed)
            assert comparison.differences(*runs) == ["WEIGHT_DECAY"]
    one, other = (
        run_of("gin/grid.gin", f"ROWS = ('{row}',)", f"LSTM_PRESET = '{row}'")
        for row in ("full", "lstm")
    )
    assert comparison.differences(one, other) == []


def test_what_an_ablation_compares_is_no_difference(tmp_path):
    full = {"PRESET": "a", "PEAK_LEARNING_RATE": 1e-3}
    rows = {
        "full": full,
        "no_pretraining": full | {"NUM_TRANSFERRED_LAYERS": -1},
        "no_lm": full | {"LM_LOSS_WEIGHT": 0.0, "PRESET": "b"},
        "lstm": full | {"PRESET": "b", "lstm": True},
    }
    for name, options in rows.items():
        fake_workdirs.finetune(tmp_path / name, "rte", {"a": 0.5}, **options)
    found = {each.run.path.name: each.run for each in results(tmp_path)}
    assert {
        name: comparison.differences(found["full"], run)
        for name, run in found.items()
    } == {"full": [], "no_pretraining": [], "no_lm": ["PRESET"], "lstm": []}


def test_preferred_and_closest(tmp_path):
    folders = {
        "sample": {"DATA_DIR": None},
        "part": {"NUM_TRAIN_EXAMPLES": 32},
        "old": {"NUM_TRAIN_EXAMPLES": None, "PEAK_LEARNING_RATE": 1e-3},
        "whole": {"NUM_TRAIN_EXAMPLES": None},
        "near": {"LM_LOSS_WEIGHT": 0.0, "NUM_TRAIN_EXAMPLES": 32},
        "far": {"LM_LOSS_WEIGHT": 0.0, "NUM_TRAIN_EXAMPLES": None},
    }
    for i, (name, options) in enumerate(folders.items()):
        folder = fake_workdirs.finetune(
            tmp_path / name, "rte", ACCURACY, **options
        )
        os.utime(folder / "result.json", (i, i))
    found = {each.run.path.name: each for each in results(tmp_path)}
    full = [found[name] for name in ("sample", "part", "old", "whole")]
    assert comparison.preferred(full) is found["whole"]
    assert comparison.preferred(full[:2]) is found["part"]
    rest = [found["near"], found["far"]]
    assert comparison.closest(rest, found["part"]) is found["near"]
    assert comparison.closest(rest, found["whole"]) is found["far"]
    assert comparison.closest(rest, None) is found["far"]
    assert comparison.preferred([]) is None
    assert comparison.closest([], found["part"]) is None
