import pytest
from absl import logging

from gpt1_keras import errors
from gpt1_keras.data.readers import rows as rows_lib


@pytest.fixture
def warnings(monkeypatch):
    """What absl logs at the level of warnings, as it would be shown."""
    shown = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *values: shown.append(text % values)
    )
    return shown


def add(count, **arguments):
    rows = rows_lib.BadRows("data.tsv", **arguments)
    for line in range(count):
        rows.add(f"data.tsv line {10 + line}", "2 columns, not 4")
    return rows


@pytest.mark.parametrize(
    "bad, total", [(0, 1), (1, 2), (1, 50), (1, 199), (2, 200), (10, 1000)]
)
def test_few_are_tolerated(bad, total):
    add(bad).check(total)


@pytest.mark.parametrize("bad, total", [(1, 1), (2, 199), (2, 2), (11, 1000)])
def test_many_stop_the_run_in_one_line(bad, total):
    with pytest.raises(errors.InputError) as caught:
        add(bad).check(total)
    assert str(caught.value) == (
        f"data.tsv line 10: 2 columns, not 4; {bad} of {total} rows cannot be"
        " read: take the official file"
    )


def test_no_rows_at_all():
    with pytest.raises(errors.InputError, match="^data.tsv has no rows: take"):
        add(0).check(0)


def test_first_few_are_reported_and_the_rest_counted(warnings):
    add(7).check(1000)
    assert warnings == [
        *(
            f"data.tsv line {line}: 2 columns, not 4; left out"
            for line in (10, 11, 12, 13, 14)
        ),
        "data.tsv: 7 of 1000 rows cannot be read; left out",
    ]


def test_no_sum_where_all_are_reported(warnings):
    add(1, remedy="taken as empty").check(100)
    assert warnings == ["data.tsv line 10: 2 columns, not 4; taken as empty"]
