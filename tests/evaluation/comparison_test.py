import os
import pathlib
import re

import pytest

from gpt1_keras import config
from gpt1_keras.evaluation import comparison
from tests.reference import fake_workdirs

ROOT = pathlib.Path(__file__).parents[2]
# The ways to fine-tune on CoLA.
GIN_FILES = ("gin/finetune/cola.gin", "gin/suite.gin", "gin/grid.gin")


def gin_text(name):
    """Return a gin file with the files it includes in their place."""
    return re.sub(
        r"^include '(.+)'$",
        lambda found: gin_text(found[1]),
        (ROOT / name).read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )


def run_of(name, *settings):
    """Return a `comparison.Run` with the bindings of a gin file."""
    text = "\n".join([gin_text(name), *settings])
    return comparison.Run(
        pathlib.Path(name), {}, config.read_bindings(text), None
    )


def results(folder):
    return comparison.over_seeds(comparison.find_runs([folder]))


def test_runs_that_differ_in_the_seed_are_joined(tmp_path):
    for seed, value in ((1, 0.5), (2, 0.6), (3, 0.1)):
        fake_workdirs.finetune(
            tmp_path / str(seed), "rte", {"accuracy": value}, seed=seed
        )
    more = [{"accuracy": 0.9}, {"accuracy": 0.8}]
    fake_workdirs.finetune(tmp_path / "other", "cola", more)
    rte, cola = results(tmp_path)
    assert rte.seeds.keys() == {"1", "2", "3"}
    assert rte.metric == "accuracy"
    assert rte.mean("accuracy") == pytest.approx(0.4)
    assert rte.median("accuracy") == 0.5
    assert rte.span("accuracy") == (0.1, 0.6)
    assert rte.mean("f1") is None and rte.median("f1") is None
    assert rte.span("f1") is None
    assert len(rte.runs) == 3
    assert cola.mean("accuracy") == pytest.approx(0.85)


def test_first_of_a_seed_counts(tmp_path):
    for name, value in (("a", 0.5), ("b", 0.6)):
        fake_workdirs.finetune(tmp_path / name, "rte", {"accuracy": value})
    (result,) = results(tmp_path)
    assert result.seeds == {"42": {"accuracy": 0.5}}
    assert result.span("accuracy") is None


def test_other_settings_are_apart(tmp_path):
    for rate in (1e-3, 1e-4):
        fake_workdirs.finetune(
            tmp_path / str(rate),
            "rte",
            {"accuracy": 0.5},
            PEAK_LEARNING_RATE=rate,
        )
    one, other = results(tmp_path)
    assert comparison.differences(one.run, other.run) == ["PEAK_LEARNING_RATE"]


@pytest.mark.parametrize("one", GIN_FILES)
@pytest.mark.parametrize("other", GIN_FILES)
def test_one_recipe_in_a_single_run_a_suite_and_a_grid(one, other):
    assert comparison.differences(run_of(one), run_of(other)) == []
    many = ("TASKS = ('cola',)", "SEEDS = (1, 2)")
    rate = "PEAK_LEARNING_RATE = 1e-4"
    differing = comparison.differences(run_of(one), run_of(other, *many, rate))
    assert differing == ["PEAK_LEARNING_RATE"]


def test_rows_and_presets_of_grids_are_no_difference():
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
    differing = {
        name: comparison.differences(found["full"], run)
        for name, run in found.items()
    }
    assert differing == {
        "full": [],
        "no_pretraining": [],
        "no_lm": ["PRESET"],
        "lstm": [],
    }


def test_preferred_and_closest(tmp_path):
    folders = {
        "sample": {"DATA_DIR": None},
        "part": {"NUM_TRAIN_EXAMPLES": 32},
        "whole": {"NUM_TRAIN_EXAMPLES": None},
        "near": {"LM_LOSS_WEIGHT": 0.0, "NUM_TRAIN_EXAMPLES": 32},
        "far": {"LM_LOSS_WEIGHT": 0.0, "NUM_TRAIN_EXAMPLES": None},
    }
    for i, (name, options) in enumerate(folders.items()):
        folder = fake_workdirs.finetune(
            tmp_path / name, "rte", {"accuracy": 0.5}, **options
        )
        os.utime(folder / "result.json", (i, i))
    found = {each.run.path.name: each for each in results(tmp_path)}

    def choose(*names):
        return [found[name] for name in names]

    full = choose("sample", "part", "whole")
    assert comparison.preferred(full) is found["whole"]
    assert comparison.preferred(full[:2]) is found["part"]
    rest = choose("near", "far")
    assert comparison.closest(rest, found["part"]) is found["near"]
    assert comparison.closest(rest, found["whole"]) is found["far"]
    assert comparison.closest(rest, None) is found["far"]
    assert comparison.preferred([]) is None
    assert comparison.closest([], found["part"]) is None


def test_newest_of_equals(tmp_path):
    for name, rate, time in (("a", 1e-3, 200), ("b", 1e-4, 100)):
        folder = fake_workdirs.finetune(
            tmp_path / name, "rte", {"a": 0.5}, PEAK_LEARNING_RATE=rate
        )
        os.utime(folder / "result.json", (time, time))
    assert comparison.preferred(results(tmp_path)).run.path.name == "a"


def test_runs_without_metrics_are_left_out(tmp_path):
    fake_workdirs.write_json(
        tmp_path / "result.json", {"run": "evaluate", "metrics": {}}
    )
    assert results(tmp_path) == []
