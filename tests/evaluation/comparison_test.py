import pathlib

from gpt1_keras import bindings
from gpt1_keras.evaluation import comparison
from tests.reference import data_files
from tests.reference import fake_workdirs

ACCURACY = {"accuracy": 0.5}
# The ways to fine-tune on CoLA.
GIN_FILES = ("gin/finetune/cola.gin", "gin/suite.gin", "gin/grid.gin")


def test_rows_of_the_ablation(tmp_path):
    neither = {"NUM_TRANSFERRED_LAYERS": -1, "LM_LOSS_WEIGHT": 0}
    for options, row in (
        ({"NUM_TRANSFERRED_LAYERS": 0}, "transferred_0"),
        ({"NUM_TRANSFERRED_LAYERS": 12}, "full"),
        ({"lstm": True, "num_layers": 1}, "lstm"),
        (neither, "no_pretraining + no_auxiliary_lm"),
    ):
        fake_workdirs.finetune(tmp_path, "rte", ACCURACY, **options)
        (run,) = fake_workdirs.find(tmp_path)
        assert run.row == row
    # Tables name a task, also where a damaged result has none.
    assert comparison.Run(tmp_path, {}).task == ""


def test_seeds_belong_to_the_aggregate_above(tmp_path):
    metrics = [{"accuracy": 0.5}, {"accuracy": 0.7}]
    folder = fake_workdirs.finetune(tmp_path / "row/rte", "rte", metrics)
    data_files.write(folder, "seed_2/metrics.jsonl", [{"step": 3}])
    (folder / "config.gin").rename(tmp_path / "config.gin")  # of a grid
    fake_workdirs.write_config(folder, "finetune.finetune", SEEDS=(3,))
    (run,) = fake_workdirs.find(tmp_path)
    found = {seed: each.metrics() for seed, each in run.seeds.items()}
    assert found == {"1": metrics[0], "2": metrics[1]}
    assert run.row == "full"
    assert run.seeds["2"].lines == [{"step": 3}]
    # Before the aggregate is written each seed is a run of its own.
    (folder / "result.json").unlink()
    found = fake_workdirs.find(tmp_path)
    assert [each.path.name for each in found] == ["seed_1", "seed_2"]
    assert [each.macro("SEEDS") for each in found] == [(1, 2), (1, 2)]


def test_runs_that_differ_in_the_seed_are_joined(tmp_path):
    # Of a seed that was run twice the first counts.
    for i, (seed, value) in enumerate([(1, 0.5), (2, 0.6), (3, 0.1), (1, 0.7)]):
        metrics = {"accuracy": value}
        fake_workdirs.finetune(tmp_path / f"{i}", "rte", metrics, seed=seed)
    # Of other rows, in a file of the same name, it is no seed of these.
    changed = fake_workdirs.finetune(tmp_path / "4", "rte", ACCURACY, seed=4)
    number = {"num_examples": 9}
    data_files.rewrite_json("result.json", lambda x: x | number)(changed)
    more = [{"matthews": 0.9, "x": 1}, {"matthews": 0.8, "x": 1}]
    far = fake_workdirs.finetune(tmp_path.parent / "far", "cola", more)
    (tmp_path / "other").symlink_to(far)
    (far / "circle").symlink_to(tmp_path)
    rte, _, cola = fake_workdirs.results(tmp_path)
    values = {k: run.metrics()["accuracy"] for k, run in rte.seeds.items()}
    assert values == {"1": 0.5, "2": 0.6, "3": 0.1}
    assert rte.metric == "accuracy" and len(rte.paths) == 4
    assert rte.middle("accuracy") == 0.5
    assert rte.middle("f1") is None
    assert rte.values("f1") == rte.values("accuracy", "test") == []
    assert cola.metric_names == ["matthews", "x"]


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
            assert comparison.differences(*runs) == {}, (name, other)
            runs = run_of(name), run_of(other, *changed)
            assert comparison.differences(*runs) == {"WEIGHT_DECAY": 0.5}
    one, other = (
        run_of("gin/grid.gin", f"ROWS = ('{row}',)", f"LSTM_PRESET = '{row}'")
        for row in ("full", "lstm")
    )
    assert comparison.differences(one, other) == {}


def test_settings_of_the_task_count():
    for name, setting, values in (
        ("stsb", "benchmarks.benchmark.regression", (False, True)),
        ("custom", "LABEL_COLUMN", ("a", "b")),
    ):
        runs = [
            run_of(f"gin/finetune/{name}.gin", f"{setting} = {value!r}")
            for value in values
        ]
        assert comparison.differences(*runs) == {setting: values[1]}
