import math

import pytest

from gpt1_keras.evaluation import tables

# Radford et al. 2018, table 5, first row: the full model.
TABLE_5 = {
    "cola": 0.454,
    "sst2": 0.913,
    "mrpc": 0.823,
    "stsb": 0.820,
    "qqp": 0.703,
    "mnli": 0.818,
    "qnli": 0.881,
    "rte": 0.560,
}
AVERAGE_OF_TABLE_5 = 74.7


def found(task, metrics, **more):
    """A `result.json` with what the table needs."""
    return {
        "task": task,
        "metrics": metrics,
        "paper": {},
        "num_examples": 1043,
        "seconds": 90.0,
    } | more


def cells(table):
    """Rows of a Markdown table as lists of cells, without the ruler."""
    header, ruler, *rows = table.removesuffix("\n").split("\n")
    assert set(ruler) == set("|-")
    assert ruler.count("|") == header.count("|")
    return [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in (header, *rows)
    ]


def test_row_of_each_metric():
    table = tables.paper_markdown(
        [
            found(
                "cola",
                {"matthews": 0.4536, "accuracy": 0.8},
                paper={"matthews": 0.454},
                majority={"matthews": 0.0, "accuracy": 0.69129},
                range={"matthews": [0.41, 0.5], "accuracy": [0.79, 0.81]},
            ),
            found("sst2", {"accuracy": 0.91}, num_examples=67349, seconds=3.0),
        ]
    )
    assert cells(table) == [
        [
            *("task", "metric", "ours", "range", "majority", "paper"),
            *("examples", "min"),
        ],
        [
            *("cola", "Matthews", "45.4", "41.0 to 50.0", "0.0", "45.4"),
            *("1,043", "1.5"),
        ],
        ["", "accuracy", "80.0", "79.0 to 81.0", "69.1", "", "", ""],
        ["sst2", "accuracy", "91.0", "", "", "", "67,349", "0.1"],
    ]


def test_metrics_of_groups_are_named():
    metrics = {"accuracy": 0.5, "accuracy_middle": 0.6, "accuracy_high": 0.4}
    rows = cells(tables.paper_markdown([found("race", metrics)]))
    names = [row[1] for row in rows[1:]]
    assert names == ["accuracy", "accuracy, middle", "accuracy, high"]
    metrics = {"pearson": 0.5, "spearman": -0.25}
    rows = cells(tables.paper_markdown([found("stsb", metrics)]))
    assert [row[1:3] for row in rows[1:]] == [
        ["Pearson", "50.0"],
        ["Spearman", "-25.0"],
    ]


def test_first_metric_is_the_paper_s():
    result = found("mrpc", {"f1": 0.8, "accuracy": 0.7})
    assert tables.main_value(result) == 0.8


def test_average_of_the_paper_is_that_of_its_table_5():
    average = tables.glue_average(TABLE_5 | {"snli": 0.899})
    assert math.isclose(100 * average, AVERAGE_OF_TABLE_5, abs_tol=0.051)


@pytest.mark.parametrize("missing", TABLE_5)
def test_no_average_without_all_eight(missing):
    values = {k: v for k, v in TABLE_5.items() if k != missing}
    assert tables.glue_average(values) is None
    table = tables.paper_markdown(
        [found(k, {"x": v}) for k, v in values.items()]
    )
    assert "GLUE" not in table


def test_row_of_the_glue_average():
    results = [
        found(task, {"first": 0.5, "second": 0.9}, paper={"first": value})
        for task, value in TABLE_5.items()
    ]
    # WNLI is of GLUE but not of the paper; SNLI not of GLUE.
    results.append(found("wnli", {"accuracy": 0.1}))
    results.append(found("snli", {"accuracy": 0.1}, paper={"accuracy": 0.899}))
    last = cells(tables.paper_markdown(results))[-1]
    assert last[:5] == ["GLUE", "mean of eight", "50.0", "", ""]
    assert float(last[5]) == pytest.approx(AVERAGE_OF_TABLE_5, abs=0.11)


def test_average_without_numbers_of_the_paper():
    results = [found(task, {"x": 0.5}) for task in TABLE_5]
    last = cells(tables.paper_markdown(results))[-1]
    assert last == ["GLUE", "mean of eight", "50.0", "", "", "", "", ""]
