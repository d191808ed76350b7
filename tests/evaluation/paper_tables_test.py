import gin
import pytest

from gpt1_keras import config
from gpt1_keras.evaluation import comparison
from gpt1_keras.evaluation import paper_tables
from tests.reference import fake_workdirs

# Radford et al. 2018, last row of tables 2, 3 and 4.
PRINTED = [
    {
        **{"MNLI-m": "82.1", "MNLI-mm": "81.4", "SNLI": "89.9"},
        **{"SciTail": "88.3", "QNLI": "88.1", "RTE": "56.0"},
    },
    {"Story Cloze": "86.5", "RACE-m": "62.9", "RACE-h": "57.4", "RACE": "59.0"},
    {
        **{"CoLA": "45.4", "SST-2": "91.3", "MRPC": "82.3"},
        **{"STS-B": "82.0", "QQP": "70.3"},
    },
]


@pytest.fixture(name="paper")
def _paper():
    config.parse(["gin/paper.gin"], [])
    yield gin.query_parameter("%PAPER")
    gin.clear_config()


def build(folder, paper):
    results = comparison.over_seeds(comparison.find_runs([folder]))
    return paper_tables.of_the_paper(results, paper)


def rows(table):
    """{benchmark: {column: text}}."""
    return {
        row[0].text: dict(zip(table.header, [cell.text for cell in row]))
        for row in table.cells()
    }


def test_numbers_of_the_paper_and_empty_cells_for_ours(tmp_path, paper):
    found = [rows(table) for table in build(tmp_path, paper)]
    assert [
        {name: row["paper"] for name, row in table.items()} for table in found
    ] == PRINTED
    ours = ("ours", "majority", "data", "train", "dev", "workdir")
    assert {
        row[column]
        for table in found
        for row in table.values()
        for column in ours
    } == {""}


def test_ours_in_every_group_of_a_task(tmp_path, paper):
    metrics = {"accuracy": 0.5, "accuracy_middle": 0.6, "accuracy_high": 0.4}
    folder = fake_workdirs.finetune(tmp_path / "race", "race", metrics)
    table = rows(build(tmp_path, paper)[1])
    assert [table[name]["ours"] for name in ("RACE", "RACE-m", "RACE-h")] == [
        *("50.0", "60.0", "40.0"),
    ]
    assert table["RACE"] == {
        "benchmark": "RACE",
        "metric": "accuracy",
        "ours": "50.0",
        "paper": "59.0",
        "majority": "50.0",
        "data": "official",
        "train": "8,551",
        "dev": "1,043",
        "workdir": str(folder),
    }
    assert table["Story Cloze"]["ours"] == ""


def test_only_the_full_model_counts(tmp_path, paper):
    for name, options in {
        "a": {"LM_LOSS_WEIGHT": 0.0},
        "b": {"NUM_TRANSFERRED_LAYERS": 3},
        "c": {"lstm": True},
    }.items():
        fake_workdirs.finetune(
            tmp_path / name, "rte", {"accuracy": 0.9}, **options
        )
    assert rows(build(tmp_path, paper)[0])["RTE"]["ours"] == ""


def test_other_settings_are_told(tmp_path, paper):
    for name, directory in (("a", None), ("b", "data")):
        fake_workdirs.finetune(
            tmp_path / name, "rte", {"accuracy": 0.9}, DATA_DIR=directory
        )
    table = build(tmp_path, paper)[0]
    assert rows(table)["RTE"]["data"] == "official"
    assert "RTE: 1 more setting(s) under All results." in table.notes
