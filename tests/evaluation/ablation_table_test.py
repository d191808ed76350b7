import re

import gin
import pytest

from gpt1_keras import config
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from tests.reference import fake_workdirs

# Radford et al. 2018, table 5, as printed: average first.
PRINTED = """
full            74.7 45.4 91.3 82.3 82.0 70.3 81.8 88.1 56.0
no_pretraining  59.9 18.9 84.0 79.4 30.9 65.5 75.7 71.2 53.8
no_auxiliary_lm 75.0 47.9 92.0 84.9 83.2 69.8 81.1 86.9 54.4
lstm            69.1 30.3 90.5 83.2 71.8 68.1 73.7 81.1 54.6
"""
HEADER = ["model", "", "average", "CoLA", "SST-2", "MRPC", "STS-B"]
HEADER += ["QQP", "MNLI", "QNLI", "RTE"]


@pytest.fixture(name="paper")
def _paper():
    config.parse(["gin/table5.gin"], [])
    yield gin.query_parameter("%PAPER_TABLE_5")
    gin.clear_config()


def build(folder, paper):
    results = comparison.over_seeds(comparison.find_runs([folder]))
    return paper_tables.table(paper_tables.choose(results), paper)


def texts(table):
    return [[cell.text for cell in row] for row in table.cells()]


def test_numbers_of_the_paper(tmp_path, paper):
    table = build(tmp_path, paper)
    assert table.header == HEADER
    rows = texts(table)
    assert [row[2:] for row in rows[1::2]] == [
        re.findall(r"[\d.]+", line) for line in PRINTED.strip().split("\n")
    ]
    # And nothing is invented for ours.
    assert {cell for row in rows[::2] for cell in row[2:]} == {""}


def test_mean_and_range_over_seeds_in_the_row_of_the_ablation(tmp_path, paper):
    fake_workdirs.finetune(
        tmp_path / "full",
        "cola",
        [{"matthews": value, "accuracy": 0.9} for value in (0.4, 0.5, 0.3)],
    )
    fake_workdirs.finetune(
        tmp_path / "lstm", "rte", {"accuracy": 0.512}, lstm=True
    )
    table = build(tmp_path, paper)
    cells = table.cells()
    assert (cells[0][3].text, cells[0][3].note) == (
        "40.0",
        "30.0 to 50.0; 3 seeds",
    )
    assert (cells[6][10].text, cells[6][10].note) == ("51.2", "1 seed")
    ours = [text for row in texts(table)[::2] for text in row[2:]]
    assert sorted(text for text in ours if text) == ["40.0", "51.2"]


def test_average_where_all_eight_are_there(tmp_path, paper):
    tasks = ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte")
    for i, task in enumerate(tasks):
        fake_workdirs.finetune(
            tmp_path / task, task, {"x": 0.1 * i}, LM_LOSS_WEIGHT=0.0
        )
    assert texts(build(tmp_path, paper))[4][2] == "35.0"


def test_other_tasks_with_an_ablation_have_a_column(tmp_path, paper):
    fake_workdirs.finetune(tmp_path / "a", "race", {"accuracy": 0.5})
    assert build(tmp_path, paper).header == HEADER
    fake_workdirs.finetune(
        tmp_path / "b", "race", {"accuracy": 0.4}, NUM_TRANSFERRED_LAYERS=-1
    )
    table = build(tmp_path, paper)
    assert table.header == [*HEADER, "RACE"]
    assert [row[-1] for row in texts(table)] == ["50.0", "", "40.0"] + [""] * 5


def test_unequal_settings_and_sample_data_are_told(tmp_path, paper):
    options = {"DATA_DIR": None, "PEAK_LEARNING_RATE": 1e-3}
    fake_workdirs.finetune(tmp_path / "a", "rte", {"accuracy": 0.5}, **options)
    options |= {"PEAK_LEARNING_RATE": 1e-4, "LM_LOSS_WEIGHT": 0.0}
    fake_workdirs.finetune(tmp_path / "b", "rte", {"accuracy": 0.4}, **options)
    notes = build(tmp_path, paper).notes[1:]
    assert notes == [
        "Generated sample data: RTE.",
        "RTE, Transformer, no auxiliary LM: differs from the full model also "
        "in PEAK_LEARNING_RATE.",
    ]
    # A second setting in a row: the nearer one stands there, and it is told.
    options |= {"PEAK_LEARNING_RATE": 1e-3}
    fake_workdirs.finetune(tmp_path / "c", "rte", {"accuracy": 0.3}, **options)
    table = build(tmp_path, paper)
    assert texts(table)[4][10] == "30.0"
    assert table.notes[2:] == [
        "RTE, Transformer, no auxiliary LM: 1 more under All results."
    ]
