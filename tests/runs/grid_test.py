import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.runs import grid
from gpt1_keras.runs import presets
from tests.reference import tiny_runs

EIGHT = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
VALUES = {name: 0.1 * i for i, name in enumerate(EIGHT, start=1)}
PAPER = {"cola": {"first": 0.454}, "rte": {"first": 0.56}}
TABLE_5 = {"full": {"average": 0.747}}


class Finetune:
    """As `finetune.finetune` after gin, but nothing is trained."""

    def __init__(self, fail_at=None):
        self.called = []
        self.fail_at = fail_at

    def __call__(
        self, *, workdir, config_sha256, task, data, training, pretrained
    ):
        if results.is_finished(workdir, config_sha256):
            return results.path(workdir)
        self.called.append(task.name)
        if task.name == self.fail_at:
            raise errors.Stopped("stopped by SIGTERM")
        workdir.mkdir(parents=True, exist_ok=True)
        layers = pretrained.num_transferred_layers
        is_lstm = "lstm" in str(pretrained.directory)
        return results.write(
            workdir,
            run="finetune",
            task=task.name,
            split="dev",
            metrics={"first": VALUES[task.name], "accuracy": 0.9},
            majority={"first": 0.0, "accuracy": 0.5},
            paper=PAPER.get(task.name, {}),
            num_examples=10,
            seed=1,
            config_sha256=config_sha256,
            seconds=60.0,
            lm_loss_weight=training.lm_loss_weight,
            num_transferred_layers=2 if layers is None else layers,
            backbone="lstm" if is_lstm else "GPT1Backbone",
        )


class Data:
    """No examples of any task; the files of some are missing."""

    def __init__(self, missing):
        self.missing = missing

    def read(self, task, split):
        if task.name in self.missing:
            raise errors.InputError(f"{task.name} does not exist")
        return []


@pytest.fixture
def run(preset, tmp_path):
    def run(
        finetune, tasks, *, sha=tiny_runs.SHA, missing=(), lora_rank=0, **more
    ):
        return grid.grid(
            workdir=tmp_path,
            config_sha256=sha,
            finetune=finetune,
            tasks=tasks,
            data=Data(missing),
            training=tiny_runs.fine_tuning(),
            pretrained=presets.Pretrained(
                preset=preset,
                num_transferred_layers=None,
                dropout=0.1,
                lora_rank=lora_rank,
            ),
            paper=PAPER,
            table5=TABLE_5,
            **more,
        )

    return run


def test_finished_cells_are_not_run_again(run, tmp_path):
    tasks = ("cola", "rte", "sst2")
    with pytest.raises(errors.Stopped):
        run(Finetune(fail_at="rte"), tasks)
    assert results.read(tmp_path) is None
    assert "CoLA" in (tmp_path / "table.md").read_text()
    finetune = Finetune()
    # Their files are not read again either.
    run(finetune, tasks, missing=["cola"])
    assert finetune.called == ["rte", "sst2"]
    assert set(results.read(tmp_path)["metrics"]) == set(tasks)
    # A finished grid does nothing; another configuration begins anew.
    finetune = Finetune()
    run(finetune, tasks)
    assert finetune.called == []
    run(finetune, tasks, sha="b" * 64)
    assert finetune.called == list(tasks)
    assert results.read(tmp_path)["seed"] == 1


def test_a_row_that_cannot_start_is_refused_at_once(run):
    finetune = Finetune()
    with pytest.raises(errors.InputError, match="`lstm_preset`: none does not"):
        run(finetune, ("cola",), rows=("full", "lstm"), lstm_preset="none")
    with pytest.raises(errors.InputError, match="`lora_rank` 2 trains no"):
        run(finetune, ("cola",), rows=("full", "no_pretraining"), lora_rank=2)
    with pytest.raises(errors.InputError, match="`rows` has 'transfer_-5'"):
        run(finetune, ("cola",), rows=("transfer_-5",))
    with pytest.raises(errors.InputError, match="transfers 2 layers.* has 1"):
        run(finetune, ("cola",), rows=("transfer_1", "transfer_2"))
    assert finetune.called == []


def test_a_preset_that_changed_under_a_grid_is_refused(run, tmp_path):
    with pytest.raises(errors.Stopped):
        run(Finetune(fail_at="rte"), ("cola", "rte"))
    (tmp_path / "cola" / "examples.json").write_text('{"preset": "another"}')
    with pytest.raises(errors.InputError, match="behind `preset` have changed"):
        run(Finetune(), ("cola", "rte"))


def test_rows_of_a_table_have_the_same_examples(run, preset, tmp_path):
    rows = {"rows": ("full", "no_auxiliary_lm")}
    run(Finetune(), ("cola", "rte"), **rows)
    (tmp_path / "no_auxiliary_lm/cola/result.json").unlink()
    for task in ("cola", "rte"):
        path = tmp_path / "full" / task / "examples.json"
        path.write_text('{"dev": "other rows"}')
    with pytest.raises(
        errors.InputError, match="`dev` have changed since .*a "
    ):
        run(Finetune(), ("cola", "rte"), **rows)
    # Where nothing is left to do for a task, its files are not needed.
    (tmp_path / "full/cola/examples.json").unlink()
    run(finetune := Finetune(), ("cola", "rte"), **rows, missing=["rte"])
    assert finetune.called == ["cola"]


def test_workers_but_the_first_write_neither_table_nor_result(run, tmp_path):
    run(finetune := Finetune(), ("cola", "rte"), is_writer=False)
    assert finetune.called == ["cola", "rte"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cola", "rte"]


def test_rows_have_folders_and_table_5(run, lstm, tmp_path, capsys):
    rows = ("full", "no_pretraining", "no_auxiliary_lm", "lstm", "transfer_1")
    finetune = Finetune()
    run(finetune, ("cola", "rte"), rows=rows, lstm_preset=str(lstm))
    assert finetune.called == ["cola"] * 5 + ["rte"] * 5
    names = ("num_transferred_layers", "lm_loss_weight", "backbone")
    of_rows = [results.read(tmp_path / row / "rte") for row in rows]
    assert [tuple(of_row[name] for name in names) for of_row in of_rows] == [
        *((2, 0.5, "GPT1Backbone"), (-1, 0.5, "GPT1Backbone")),
        *((2, 0.0, "GPT1Backbone"), (2, 0.5, "lstm")),
        (1, 0.5, "GPT1Backbone"),
    ]
    found = results.read(tmp_path)
    expected = [(row, task) for row in rows for task in ("cola", "rte")]
    assert found["metrics"] == {f"{r}/{t}": VALUES[t] for r, t in expected}
    assert found["paper"] == TABLE_5
    table = (tmp_path / "table5.md").read_text()
    assert capsys.readouterr().out.endswith(f"{table}\n")
    for row in ("full", "no pretraining", "no auxiliary LM", "LSTM", "d: 1 |"):
        assert row in table


SETTINGS = {
    **{"SEQUENCE_LENGTH": 32, "BATCH_SIZE": 8},
    **{"NUM_EPOCHS": 1, "DTYPE": "float32"},
    "sources.BenchmarkFiles.sample_examples": 16,
    "finetune.FineTuning.bucket_lengths": (32,),
    "finetune.FineTuning.evaluation_batch_size": 4,
    "finetune.FineTuning.early_evaluation_steps": (),
    "fit.Intervals.checkpoint_steps": 0,
}


def test_suite_of_one_sample_benchmark(preset, tmp_path, cache):
    workdir = tmp_path / "suite"
    settings = SETTINGS | {"PRESET": str(preset), "TASKS": ("stsb",)}
    found = tiny_runs.succeed("gin/suite.gin", workdir, **settings)
    each = results.read(workdir / "stsb")
    assert each["paper"] == {"pearson": 0.820}
    assert each["num_train_examples"] == 16
    assert found["metrics"] == {"stsb": each["metrics"]["pearson"]}
    assert each["config_sha256"] == found["config_sha256"]
    table = (workdir / "table.md").read_text()
    assert "(sample data)**" in table and "| STS-B | Pearson |" in table
