import json

import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.runs import finetune

VALUES = {1: 0.5, 2: 0.9, 3: 0.6, 4: 0.2}
SHA = "a" * 64


class Runs:
    """A run that looks its result up, and counts how often it is called."""

    def __init__(self):
        self.called = []

    def __call__(self, directory, seed):
        self.called.append((directory.name, seed))
        return results.write(
            directory,
            run="finetune",
            task="cola",
            split="dev",
            metrics={"matthews": VALUES[seed], "accuracy": 1 - VALUES[seed]},
            majority={"matthews": 0.0},
            paper={"matthews": 0.454},
            num_examples=40,
            num_train_examples=160,
            best_step=seed,
            seed=seed,
            config_sha256=SHA,
            seconds=10.0 * seed,
        )


@pytest.fixture
def workdir(tmp_path):
    for seed in VALUES:
        (tmp_path / f"seed_{seed}").mkdir()
    return tmp_path


def test_one_seed_runs_in_the_workdir_itself(workdir):
    runs = Runs()
    path = finetune.run_each(workdir, SHA, 3, None, runs)
    assert runs.called == [(workdir.name, 3)]
    assert path == workdir / "result.json"
    assert results.read(workdir)["seed"] == 3


def test_median_and_range_of_several(workdir):
    runs = Runs()
    path = finetune.run_each(workdir, SHA, 42, (1, 2, 3), runs)
    assert runs.called == [("seed_1", 1), ("seed_2", 2), ("seed_3", 3)]
    assert path == workdir / "result.json"
    found = json.loads(path.read_text())
    assert found["metrics"] == {
        "matthews": 0.6,
        "accuracy": pytest.approx(0.4),
    }
    assert found["range"]["matthews"] == [0.5, 0.9]
    assert found["range"]["accuracy"] == pytest.approx([0.1, 0.5])
    assert {k: v["matthews"] for k, v in found["seeds"].items()} == {
        "1": 0.5,
        "2": 0.9,
        "3": 0.6,
    }
    assert found["seed"] == [1, 2, 3]
    assert found["seconds"] == 60.0
    assert "best_step" not in found  # Each seed has its own.
    for name in ("run", "task", "split", "paper", "majority", "config_sha256"):
        assert found[name] == results.read(workdir / "seed_1")[name]
    assert (found["num_examples"], found["num_train_examples"]) == (40, 160)


def test_median_of_an_even_number_is_between_the_middle_two(workdir):
    finetune.run_each(workdir, SHA, 42, (1, 2, 3, 4), Runs())
    found = results.read(workdir)
    assert found["metrics"]["matthews"] == pytest.approx(0.55)


def test_finished_seeds_are_not_run_again(workdir):
    finetune.run_each(workdir, SHA, 42, (1, 2), Runs())
    runs = Runs()
    finetune.run_each(workdir, SHA, 42, [1, 2, 3], runs)
    assert runs.called == [("seed_3", 3)]
    assert results.read(workdir)["seed"] == [1, 2, 3]


def test_seeds_of_another_configuration_are_run_again(workdir):
    finetune.run_each(workdir, SHA, 42, (1, 2), Runs())
    runs = Runs()
    finetune.run_each(workdir, "b" * 64, 42, (1, 2), runs)
    assert [seed for _, seed in runs.called] == [1, 2]


@pytest.mark.parametrize("seeds", [(), (1, 1), (1, 2, 1), 3, "12"])
def test_wrong_seeds(workdir, seeds):
    runs = Runs()
    with pytest.raises(errors.InputError, match="^SEEDS is .*: give different"):
        finetune.run_each(workdir, SHA, 42, seeds, runs)
    assert runs.called == []
