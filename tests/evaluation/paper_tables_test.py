import re

import pytest

from gpt1_keras import bindings
from gpt1_keras.evaluation import paper_tables
from tests.reference import fake_workdirs

# Radford et al. 2018, last row of tables 2, 3 and 4.
PRINTED = """
MNLI accuracy, matched 82.1
MNLI accuracy, mismatched 81.4
SNLI accuracy 89.9
SciTail accuracy 88.3
QNLI accuracy 88.1
RTE accuracy 56.0

Story Cloze accuracy 86.5
RACE accuracy 59.0
RACE accuracy, middle 62.9
RACE accuracy, high 57.4

CoLA Matthews 45.4
SST-2 accuracy 91.3
MRPC F1 82.3
STS-B Pearson 82.0
QQP F1 70.3
GLUE official average 72.8
"""
# Table 5 as printed: average first.
PRINTED_5 = """
full            74.7 45.4 91.3 82.3 82.0 70.3 81.8 88.1 56.0
no_pretraining  59.9 18.9 84.0 79.4 30.9 65.5 75.7 71.2 53.8
no_auxiliary_lm 75.0 47.9 92.0 84.9 83.2 69.8 81.1 86.9 54.4
lstm            69.1 30.3 90.5 83.2 71.8 68.1 73.7 81.1 54.6
"""
HEADER_5 = ["model", "", "average", "CoLA", "SST-2", "MRPC", "STS-B"]
HEADER_5 += ["QQP", "MNLI", "QNLI", "RTE"]
# The paper's system on GLUE's leaderboard, whose average there is 72.8.
LEADERBOARD = {
    "cola": {"matthews": 0.454, "accuracy": 0.0},
    "sst2": {"accuracy": 0.913},
    "mrpc": {"f1": 0.823, "accuracy": 0.757},
    "stsb": {"pearson": 0.820, "spearman": 0.800},
    "qqp": {"f1": 0.703, "accuracy": 0.885},
    "mnli": {
        **{"accuracy": 0.818, "accuracy_matched": 0.821},
        **{"accuracy_mismatched": 0.814},
    },
    "qnli": {"accuracy": 0.881},
    "rte": {"accuracy": 0.560},
    "wnli": {"accuracy": 0.534},
}


@pytest.fixture(scope="module", name="paper")
def _paper():
    """The paper's numbers in gin: tables 2 to 4, and table 5."""
    macros = bindings.read(["gin/paper.gin", "gin/table5.gin"], []).macros
    return macros["PAPER"], macros["PAPER_TABLE_5"]


def texts(table):
    return [[cell.text for cell in row] for row in table.cells()]


def test_benchmarks_with_all_of_glue_have_both_averages(tmp_path, paper):
    averages = []
    for task, metrics in LEADERBOARD.items():
        fake_workdirs.finetune(tmp_path / task, task, metrics)
        runs = fake_workdirs.results(tmp_path)
        found = texts(paper_tables.benchmarks(runs, paper[0]))
        averages.append([row[1:] for row in found if row[0] == "GLUE"])
    empty = [""] * 6
    mean = ["mean of eight (table 5)", "74.7", "", "74.7", *empty]
    official = ["official average", "72.8", "", "72.8", *empty]
    assert averages == [[]] * 7 + [[mean], [mean, official]]
    # And in table 4 of the report.
    table = paper_tables.of_the_paper(runs, paper[0])[2]
    assert texts(table)[-1][:3] == ["GLUE", "official average", "72.8"]
    # Not without MNLI's second set.
    half = {**LEADERBOARD["mnli"]}
    del half["accuracy_mismatched"]
    fake_workdirs.finetune(tmp_path / "mnli", "mnli", half)
    found = paper_tables.glue_averages(fake_workdirs.results(tmp_path))
    assert found["glue_average"] and found["glue_official_average"] is None
    fake_workdirs.finetune(
        tmp_path / "x", "rte", {"accuracy": 0.5}, LM_LOSS_WEIGHT=0.0
    )
    table = paper_tables.of_the_paper(
        fake_workdirs.results(tmp_path), paper[0]
    )[0]
    assert not any(note.startswith("Of several") for note in table.notes)


def test_tables_2_to_4_hold_the_paper_and_nothing_for_ours(paper):
    found = []
    for table in paper_tables.of_the_paper([], paper[0]):
        rows = [dict(zip(table.header, row)) for row in texts(table)]
        names = ("benchmark", "metric", "paper, test")
        found.append([" ".join(map(row.pop, names)) for row in rows])
        assert {cell for row in rows for cell in row.values()} == {""}
    # The mean of both of MNLI's dev sets is of table 5.
    assert found[0].pop(0) == "MNLI accuracy 81.8"
    printed = [part.split("\n") for part in PRINTED.strip().split("\n\n")]
    assert found == printed


def test_table_5_holds_the_paper(paper):
    """And means in the right rows: that of docs/results (report_test.py)."""
    table = paper_tables.ablation_table({}, paper[1])
    assert (table.title, table.header) == ("Table 5: ablations", HEADER_5)
    found = texts(table)
    assert [row[2:] for row in found[1::2]] == [
        re.findall(r"[\d.]+", line) for line in PRINTED_5.strip().split("\n")
    ]
    # And nothing is invented for ours.
    assert {cell for row in found[::2] for cell in row[2:]} == {""}
