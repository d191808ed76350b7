import importlib
import inspect
import re

import pytest

from tools import benchmark


@pytest.mark.parametrize("name", benchmark.SECTIONS)
def test_section_is_documented_and_takes_what_it_is_given(name):
    module = importlib.import_module(benchmark.SECTIONS[name])
    assert module.__doc__
    taken = inspect.signature(module.measure).parameters
    assert {"sizes", "rounds"} <= taken.keys()
    assert ("data" in taken) == (name in benchmark._WITH_DATA)


def test_figures_are_shown_with_ratios_and_what_is_beside_them(capsys):
    benchmark._show(
        "probe",
        "mini",
        {
            "unit": "questions/s",
            "per_second": {"ours": 1234.5, "theirs": 2.345, "absent": None},
            "first_seconds": {"ours": 1.0, "theirs": 2.0},
            "ratios": {"theirs": 0.5},
            "equal": True,
        },
    )
    benchmark._show("memory", "mini", {"unit": "GB", "values": {"1": 0.875}})
    shown = re.sub(" +", " ", capsys.readouterr().out).splitlines()
    assert shown == [
        "probe, mini (questions/s; first call with compilation)",
        " ours 1,234.5 first 1.00 s",
        " theirs 2.35 first 2.00 s ratio 0.50",
        " absent not installed",
        " equal True",
        "memory, mini (GB)",
        " 1 0.88",
    ]
