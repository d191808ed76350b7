"""Several benchmarks: in Python with a run that only looks values up, and
through `gpt1_keras.main` with a small one."""

import json

import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.runs import grid
from gpt1_keras.runs import sources
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

SHA = "a" * 64
EIGHT = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
VALUES = {name: 0.1 * i for i, name in enumerate(EIGHT, start=1)}
PAPER = {"cola": {"first": 0.454}, "rte": {"first": 0.56}}


class Finetune:
    """As `finetune.finetune` after gin: no number is learnt."""

    def __init__(self, fail_at=None):
        self.called = []
        self.fail_at = fail_at

    def __call__(self, *, workdir, config_sha256, task, data):
        if results.is_finished(workdir, config_sha256):
            return results.path(workdir)
        self.called.append(task.name)
        if task.name == self.fail_at:
            raise errors.Stopped("stopped by SIGTERM")
        workdir.mkdir(parents=True, exist_ok=True)
        return results.write(
            workdir,
            run="finetune",
            task=task.name,
            split="dev",
            metrics={"first": VALUES[task.name], "second": 0.9},
            majority={"first": 0.0, "second": 0.5},
            paper=PAPER.get(task.name, {}),
            num_examples=10,
            seed=1,
            config_sha256=config_sha256,
            seconds=60.0,
        )


class Data(sources.BenchmarkFiles):
    """Sample files, and what was read of them."""

    def __init__(self, missing=()):
        super().__init__(data_dir=None, sample_examples=8, sample_seed=0)
        self.missing = missing
        self.asked = []

    def read(self, task, split):
        self.asked.append((task.name, split))
        if task.name in self.missing:
            raise errors.InputError(f"{task.name} does not exist")
        return []


def run(workdir, finetune, tasks, *, data=None, sha=SHA):
    return grid.suite(
        workdir=workdir,
        config_sha256=sha,
        finetune=finetune,
        data=data or Data(),
        tasks=tasks,
        paper=PAPER,
        seed=1,
    )


def test_each_task_has_its_workdir_and_the_suite_one_table(tmp_path, capsys):
    finetune, data = Finetune(), Data()
    path = run(tmp_path, finetune, ("rte", "cola"), data=data)
    assert finetune.called == ["rte", "cola"]
    assert data.asked == [
        (task, split) for task in ("rte", "cola") for split in ("train", "dev")
    ]
    found = json.loads(path.read_text())
    assert path == tmp_path / "result.json"
    assert (found["run"], found["task"]) == ("suite", "rte, cola")
    assert found["metrics"] == {"rte": VALUES["rte"], "cola": VALUES["cola"]}
    assert found["paper"] == PAPER
    assert (found["num_examples"], found["seconds"]) == (20, 120.0)
    assert (found["seed"], found["config_sha256"]) == (1, SHA)
    for name in ("rte", "cola"):
        assert results.read(tmp_path / name)["task"] == name
    table = (tmp_path / "table.md").read_text()
    assert "| rte | first | 80.0 |" in table
    assert "| cola | first | 10.0 |" in table
    # After each task the table so far is shown.
    shown = capsys.readouterr().out
    assert shown.count("| task |") == 2
    assert shown.endswith(f"{table}\n")


def test_average_of_glue_where_all_of_it_is_there(tmp_path):
    run(tmp_path / "all", Finetune(), EIGHT)
    metrics = results.read(tmp_path / "all")["metrics"]
    assert metrics["glue_average"] == pytest.approx(0.45)
    assert "mean of eight | 45.0" in (tmp_path / "all/table.md").read_text()
    run(tmp_path / "some", Finetune(), EIGHT[:-1])
    assert "glue_average" not in results.read(tmp_path / "some")["metrics"]


def test_tasks_done_before_are_not_done_again(tmp_path):
    with pytest.raises(errors.Stopped):
        run(tmp_path, Finetune(fail_at="rte"), ("cola", "rte", "sst2"))
    assert results.read(tmp_path) is None
    assert "cola" in (tmp_path / "table.md").read_text()
    finetune, data = Finetune(), Data(missing=["cola"])
    run(tmp_path, finetune, ("cola", "rte", "sst2"), data=data)
    assert finetune.called == ["rte", "sst2"]
    assert set(results.read(tmp_path)["metrics"]) == {"cola", "rte", "sst2"}
    # And a finished suite does nothing.
    finetune = Finetune()
    run(tmp_path, finetune, ("cola", "rte", "sst2"))
    assert finetune.called == []
    # One of another configuration begins anew.
    run(tmp_path, finetune, ("cola", "rte", "sst2"), sha="b" * 64)
    assert finetune.called == ["cola", "rte", "sst2"]


def test_missing_files_are_found_before_anything_trains(tmp_path):
    finetune = Finetune()
    with pytest.raises(errors.InputError, match="sst2 does not exist"):
        run(tmp_path, finetune, ("cola", "sst2"), data=Data(missing=["sst2"]))
    assert finetune.called == []


@pytest.mark.parametrize(
    "tasks, expected",
    [
        ((), "TASKS is"),
        (("cola", "cola"), "give different names"),
        (("cola", "kola"), "did you mean 'cola'"),
        ("cola", r"TASKS is 'cola': give a tuple: \('cola',\)"),
    ],
)
def test_wrong_tasks(tmp_path, tasks, expected):
    finetune = Finetune()
    with pytest.raises(errors.InputError, match=expected):
        run(tmp_path, finetune, tasks)
    assert finetune.called == []


# --- Through main -------------------------------------------------------------

SETTINGS = {
    "TASKS": ("cola", "stsb"),
    "SAMPLE_EXAMPLES": 16,
    "SEQUENCE_LENGTH": 32,
    "BATCH_SIZE": 8,
    "NUM_EPOCHS": 1,
    "recipe.FineTuning.bucket_lengths": (32,),
    "recipe.FineTuning.evaluation_batch_size": 4,
    "fitting.Intervals.checkpoint_steps": 0,
}


def test_two_sample_benchmarks_and_an_evaluation(tmp_path, monkeypatch):
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))
    preset = tiny_task.write_preset(tmp_path / "preset")
    workdir = tmp_path / "suite"
    settings = SETTINGS | {"PRESET": str(preset)}
    status, output = tiny_fine_tuned.call_main(
        "gin/suite.gin", workdir, **settings
    )
    assert status == 0, output
    found = results.read(workdir)
    each = {name: results.read(workdir / name) for name in ("cola", "stsb")}
    assert each["stsb"]["paper"] == {"pearson": 0.820}
    assert (each["cola"]["num_train_examples"], each["cola"]["num_steps"]) == (
        *(16,),
        2,
    )
    assert found["metrics"] == {
        "cola": each["cola"]["metrics"]["matthews"],
        "stsb": each["stsb"]["metrics"]["pearson"],
    }
    assert found["num_examples"] == 8
    assert "| stsb | Pearson |" in (workdir / "table.md").read_text()
    assert {one["config_sha256"] for one in each.values()} == {
        found["config_sha256"]
    }
    # The model that was kept has the metrics of its result.
    status, output = tiny_fine_tuned.call_main(
        "gin/evaluate.gin",
        tmp_path / "dev",
        PRESET=str(workdir / "stsb"),
        SAMPLE_EXAMPLES=16,
    )
    assert status == 0, output
    again = results.read(tmp_path / "dev")
    assert again["task"] == "stsb"
    assert again["metrics"] == pytest.approx(each["stsb"]["metrics"], abs=1e-4)


def test_mistake_in_a_task_ends_in_one_line(tmp_path):
    data = tiny_task.write_cola(tmp_path / "data")
    workdir = tmp_path / "suite"
    status, output = tiny_fine_tuned.call_main(
        "gin/suite.gin",
        workdir,
        TASKS=("cola", "rte"),
        DATA_DIR=str(data),
    )
    assert status == 2
    assert "RTE/train.tsv does not exist" in output.splitlines()[-1]
    assert "Traceback" not in output
    assert not workdir.exists() or not any(workdir.iterdir())


def test_all_names_of_the_paper_are_the_default():
    text = (tiny_fine_tuned.ROOT / "gin" / "suite.gin").read_text()
    (line,) = [part for part in text.split("\n\n") if part.startswith("TASKS")]
    tasks = line.partition("TASKS = ")[2].partition(")")[0]
    names = [name.strip(" '\n") for name in tasks.strip("( ").split(",")]
    assert names == list(benchmarks.NAMES)
