"""The ablations through `gpt1_keras.main`, on a tiny task."""

import contextlib
import io

import gin
import keras
import pytest

from gpt1_keras import errors
from gpt1_keras import main
from gpt1_keras import results
from gpt1_keras.evaluation import comparison
from gpt1_keras.models import builders
from gpt1_keras.models import lstm_backbone
from gpt1_keras.runs import grid
from gpt1_keras.runs import presets
from tests.reference import kill_run
from tests.reference import tiny_task
from tests.runs import recipe_test

ROWS = ("full", "no_pretraining", "no_auxiliary_lm", "transfer_1")


class Experiment(tiny_task.Experiment):
    gin_files = ("gin/grid.gin",)


def run(experiment, workdir, **settings):
    arguments = experiment.command(workdir, **settings)[3:]
    stderr = io.StringIO()
    policy = keras.config.dtype_policy()
    try:
        with (
            contextlib.redirect_stderr(stderr),
            contextlib.redirect_stdout(io.StringIO()) as stdout,
        ):
            status = main.main(arguments)
    finally:
        gin.clear_config()
        keras.config.set_dtype_policy(policy)
    return status, stderr.getvalue(), stdout.getvalue()


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    directory = tmp_path_factory.mktemp("grid")
    return Experiment(
        directory,
        backend=keras.config.backend(),
        TASKS=("cola",),
        ROWS=ROWS,
        NUM_EPOCHS=1,
        **{"recipe.FineTuning.early_evaluation_steps": ()},
    )


def test_every_cell_and_the_table(experiment):
    workdir = experiment.directory / "run"
    status, stderr, stdout = run(experiment, workdir)
    assert status == 0, stderr
    facts = {
        row: (
            each["backbone"],
            each["num_transferred_layers"],
            each["lm_loss_weight"],
        )
        for row in ROWS
        for each in [results.read(workdir / row / "cola")]
    }
    assert facts == {
        "full": ("GPT1Backbone", 2, 0.5),
        "no_pretraining": ("GPT1Backbone", -1, 0.5),
        "no_auxiliary_lm": ("GPT1Backbone", 2, 0.0),
        "transfer_1": ("GPT1Backbone", 1, 0.5),
    }
    runs = comparison.find_runs([workdir])
    found = {run.row for run in runs if run.kind == "finetune"}
    assert found == {*ROWS[:3], "transferred_1"}
    table = (workdir / "table5.md").read_text()
    assert table in stdout
    for row in ("full", "no pretraining", "no auxiliary LM"):
        assert row in table
    # Started again, nothing is trained again.
    cell = workdir / "full" / "cola" / "result.json"
    before = cell.stat().st_mtime_ns
    (workdir / "result.json").unlink()
    assert run(experiment, workdir)[0] == 0
    assert cell.stat().st_mtime_ns == before
    assert results.read(workdir)["metrics"].keys() == {
        f"{row}/cola" for row in ROWS
    }


def test_rows_without_the_language_model_loss_log_none(experiment):
    workdir = experiment.directory / "run"
    line = kill_run.lines(workdir / "no_auxiliary_lm" / "cola")[0]
    assert "lm_loss" not in line


@pytest.mark.parametrize(
    "row, expected",
    [
        ("lstm", "needs LSTM_PRESET"),
        ("no_lm", "ROWS has 'no_lm'"),
        ("transfer_x", "ROWS has 'transfer_x'"),
        ("3", "ROWS has '3'"),
    ],
)
def test_mistakes(row, expected):
    full = presets.Pretrained(
        preset="p", num_transferred_layers=None, dropout=0.1
    )
    with pytest.raises(errors.InputError, match=expected):
        grid._changes(row, recipe_test.SETTINGS, full, None)


def test_lstm_takes_its_own_preset():
    full = presets.Pretrained(
        preset="p", num_transferred_layers=None, dropout=0.1
    )
    changed = grid._changes("lstm", recipe_test.SETTINGS, full, "lstm")
    assert changed["pretrained"].preset == "lstm"
    assert changed["pretrained"].dropout == 0.1
    assert changed["training"] == recipe_test.SETTINGS


LSTM = {
    "vocabulary_size": 80,
    "num_units": 8,
    "hidden_dim": 8,
    "max_sequence_length": 32,
    "embedding_dropout": 0.1,
    "residual_dropout": 0.1,
    "embedding_dropout_on": "tables",
    "initializer_range": 0.02,
}


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"PRESET": "nowhere"}, "PRESET nowhere does not exist"),
        (
            {"ROWS": ("full", "lstm"), "LSTM_PRESET": "typo"},
            "PRESET typo does not exist",
        ),
        (
            {"ROWS": ("full", "transfer_99")},
            "'transfer_99' transfers 99 layers",
        ),
        (
            {"ROWS": ("full", "transfer_-2")},
            "'transfer_-2' transfers -2 layers",
        ),
        ({"NUM_TRANSFERRED_LAYERS": 3}, "'full' transfers 3 layers"),
        ({"NUM_TRANSFERRED_LAYERS": "x"}, "'full' transfers 'x' layers"),
        ({"SEQUENCE_LENGTH": 33}, "SEQUENCE_LENGTH 33 is more"),
        ({"ROWS": "full"}, "ROWS is 'full': give a tuple: ('full',)"),
        ({"ROWS": ()}, "ROWS is (): give different names"),
        ({"ROWS": ("full", "full")}, "give different names"),
        ({"TASKS": "cola"}, "TASKS is 'cola': give a tuple: ('cola',)"),
        ({"TASKS": ()}, "TASKS is (): give different names"),
        ({"TASKS": ("cola", "kola")}, "no benchmark 'kola'"),
    ],
)
def test_mistakes_are_found_before_anything_trains(
    experiment, tmp_path, settings, expected
):
    workdir = tmp_path / "run"
    status, stderr, _ = run(experiment, workdir, **settings)
    assert status == 2, stderr
    last = stderr.strip().split("\n")[-1]
    assert last.startswith("error: ") and expected in last
    assert not list(workdir.glob("*/*/*"))


def test_a_transformer_as_lstm_preset(experiment, tmp_path):
    preset = str(experiment.directory / "preset")
    status, stderr, _ = run(
        experiment, tmp_path / "run", ROWS=("full", "lstm"), LSTM_PRESET=preset
    )
    assert status == 2
    assert stderr.strip().endswith(
        "preset is no LSTM: give a pretraining run with gin/ablation/lstm.gin"
    )


def test_an_lstm_as_lstm_preset(experiment, tmp_path):
    """It has one layer, whatever the other preset has."""
    source = presets.Pretrained(
        preset=str(experiment.directory / "preset"),
        num_transferred_layers=None,
        dropout=0.1,
    )
    tokenizer = source.tokenizer()
    network = lstm_backbone.LSTMBackbone(
        **LSTM | {"vocabulary_size": tokenizer.vocabulary_size}
    )
    builders.gpt1_causal_lm(network, tokenizer).save_to_preset(
        str(tmp_path / "lstm")
    )
    found = grid._choose(
        ("lstm", "transfer_2"),
        recipe_test.SETTINGS,
        source,
        str(tmp_path / "lstm"),
    )
    assert list(found) == ["lstm", "transfer_2"]
    one = source.changed(
        preset=str(tmp_path / "lstm"), num_transferred_layers=2
    )
    with pytest.raises(errors.InputError, match="has 1; give"):
        grid._choose(("full",), recipe_test.SETTINGS, one, None)
