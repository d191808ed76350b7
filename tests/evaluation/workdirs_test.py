import pathlib

import pytest

from gpt1_keras import errors
from gpt1_keras.evaluation import comparison
from tests.reference import fake_workdirs

ACCURACY = {"accuracy": 0.5}


def find_one(folder):
    (run,) = comparison.find_runs([folder])
    return run


def test_fine_tuning_of_the_full_model(tmp_path):
    fake_workdirs.finetune(tmp_path / "a", "rte", ACCURACY, seed=7)
    run = find_one(tmp_path)
    assert (run.path, run.kind, run.task) == (tmp_path / "a", "finetune", "rte")
    assert (run.row, run.backbone, run.num_layers) == (
        "full",
        "transformer",
        12,
    )
    assert run.seeds == {"7": ACCURACY}
    assert run.is_sample is False
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
        (
            {"NUM_TRANSFERRED_LAYERS": -1, "LM_LOSS_WEIGHT": 0},
            "no_pretraining + no_auxiliary_lm",
        ),
    ],
)
def test_rows_of_the_ablation(tmp_path, options, row):
    fake_workdirs.finetune(tmp_path, "rte", ACCURACY, **options)
    assert find_one(tmp_path).row == row


def test_what_the_result_says_comes_before_the_macros(tmp_path):
    folder = fake_workdirs.finetune(tmp_path, "rte", ACCURACY)
    path = folder / "result.json"
    text = path.read_text()
    path.write_text(text.replace("{", '{"lm_loss_weight": 0.0, ', 1))
    assert find_one(tmp_path).row == "no_auxiliary_lm"


def test_nothing_is_guessed_without_the_files(tmp_path):
    """A config.gin of another run, or no preset: no row."""
    folder = fake_workdirs.finetune(tmp_path / "a", "rte", ACCURACY)
    (folder / "config.gin").unlink()
    fake_workdirs.write_config(folder, "finetune.finetune", LM_LOSS_WEIGHT=0.5)
    run = find_one(tmp_path)
    assert (run.row, run.bindings, run.is_sample) == (None, None, None)
    assert run.seeds == {"42": ACCURACY}
    folder = fake_workdirs.finetune(tmp_path / "b", "rte", ACCURACY)
    (folder / "preset" / "config.json").unlink()
    assert comparison.find_runs([tmp_path / "b"])[0].row is None


def test_macros_of_a_grid_do_not_speak_for_its_cells(tmp_path):
    sha256 = fake_workdirs.write_config(
        tmp_path, "grid.grid", LM_LOSS_WEIGHT=0.5, NUM_TRANSFERRED_LAYERS=None
    )
    record = {"run": "finetune", "task": "rte", "metrics": ACCURACY, "seed": 1}
    cell = tmp_path / "cell"
    fake_workdirs.write_preset(cell)
    fake_workdirs.write_json(
        cell / "result.json", record | {"config_sha256": sha256}
    )
    assert find_one(tmp_path).row is None
    (cell / "preset" / "config.json").unlink()
    fake_workdirs.write_json(
        cell / "result.json",
        record
        | {"config_sha256": sha256, "lm_loss_weight": 0.0}
        | {"num_transferred_layers": 1, "backbone": "LSTMBackbone"},
    )
    run = find_one(tmp_path)
    assert (run.row, run.num_layers) == ("lstm + no_auxiliary_lm", 1)


def test_seeds_belong_to_the_aggregate_above(tmp_path):
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.7}]
    folder = fake_workdirs.finetune(tmp_path / "a", "rte", metrics)
    fake_workdirs.write_lines(folder / "seed_2", [{"step": 3}])
    run = find_one(tmp_path)
    assert run.seeds == {"1": metrics[0], "2": metrics[1]}
    assert run.row == "full"
    assert run.lines("2") == [{"step": 3}]
    # Before the aggregate is written they stand for themselves.
    (folder / "result.json").unlink()
    found = comparison.find_runs([tmp_path])
    assert [each.path.name for each in found] == ["seed_1", "seed_2"]
    assert {each.config for each in found} == {folder / "config.gin"}


def test_tasks_of_a_suite_share_its_configuration(tmp_path):
    sha256 = fake_workdirs.write_config(
        tmp_path, "suite.suite", LM_LOSS_WEIGHT=0.0, NUM_TRANSFERRED_LAYERS=None
    )
    for task in ("cola", "rte"):
        fake_workdirs.write_preset(tmp_path / task)
        record = {"run": "finetune", "task": task, "seed": 1}
        record |= {"metrics": ACCURACY, "config_sha256": sha256}
        fake_workdirs.write_json(tmp_path / task / "result.json", record)
    found = comparison.find_runs([tmp_path])
    assert [run.task for run in found] == ["cola", "rte"]
    assert {run.row for run in found} == {"no_auxiliary_lm"}


def test_seeds_of_an_unfinished_cell_have_the_grid_s_configuration(tmp_path):
    sha256 = fake_workdirs.write_config(
        tmp_path, "grid.grid", DATA_DIR="data", SEEDS=(1, 2, 3)
    )
    cell = tmp_path / "no_auxiliary_lm" / "rte"
    for seed in (1, 2):
        record = {"run": "finetune", "task": "rte", "seed": seed}
        record |= {"metrics": {"accuracy": seed / 4}, "config_sha256": sha256}
        record |= {"lm_loss_weight": 0.0, "backbone": "GPT1Backbone"}
        fake_workdirs.write_json(cell / f"seed_{seed}" / "result.json", record)
    fake_workdirs.write_lines(cell / "seed_3", [{"step": 1, "loss": 2.0}])
    found = comparison.find_runs([tmp_path])
    assert {run.config for run in found} == {tmp_path / "config.gin"}
    assert [run.is_sample for run in found] == [False] * 3
    assert [run.row for run in found] == ["no_auxiliary_lm"] * 2 + [None]
    (result,) = comparison.over_seeds(found)
    assert result.values("accuracy") == [0.25, 0.5]


def test_unfinished_pretraining_is_found_by_its_metrics(tmp_path):
    fake_workdirs.write_config(tmp_path, "pretrain.pretrain", NUM_LAYERS=4)
    fake_workdirs.write_lines(tmp_path, [{"step": 1, "loss": 2.0}])
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 2, "lo')
    run = find_one(tmp_path)
    assert (run.kind, run.result, run.num_layers) == ("pretrain", {}, 4)
    assert run.lines() == [{"step": 1, "loss": 2.0}]
    assert run.seeds == {}


def test_inner_folders_and_repetitions_are_left_out(tmp_path):
    folder = fake_workdirs.finetune(tmp_path / "a", "rte", ACCURACY)
    for name in ("checkpoints", "preset", ".hidden"):
        fake_workdirs.write_json(folder / name / "result.json", {"run": "x"})
    fake_workdirs.finetune(tmp_path / "b", "cola", {"matthews": 0.1})
    found = comparison.find_runs([tmp_path / "b", tmp_path, str(tmp_path)])
    assert [run.task for run in found] == ["cola", "rte"]


def test_paths_are_shown_as_they_were_given(tmp_path, monkeypatch):
    fake_workdirs.finetune(tmp_path / "out" / "a", "rte", ACCURACY)
    monkeypatch.chdir(tmp_path)
    run = find_one("out")
    assert run.path == pathlib.Path("out/a")
    assert run.config == pathlib.Path("out/a/config.gin")


def test_missing_folder(tmp_path):
    with pytest.raises(errors.InputError, match="none is not a folder"):
        comparison.find_runs([tmp_path / "none"])


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("result.json", '{"run":\n !', r"result\.json:2: is damaged"),
        ("result.json", "[1]", r"result\.json:1: .*not an object"),
        ("result.json", '{"metrics": "x"}', r"json: .*'metrics' is not an o"),
        ("result.json", '{"seeds": [1]}', r"json: is damaged \('seeds' is not"),
        ("config.gin", "A = = 2\n", r"config\.gin: is not gin"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, text, expected):
    fake_workdirs.write_lines(tmp_path, [])
    (tmp_path / name).write_text(text)
    with pytest.raises(errors.InputError, match=expected) as caught:
        comparison.find_runs([tmp_path])
    assert "\n" not in str(caught.value)
