import importlib.util
import json
import sys
import types

import pytest

from tools import benchmark
from tools.benchmarks import networks

FOUND = {
    "unit": "tokens/s",
    "per_second": {"ours": 30.0, "theirs": 10.0, "absent": None},
    "first_seconds": {"ours": 2.0, "theirs": 1.0},
    "ratios": {"theirs": 3.0},
    "texts_equal": True,
}


@pytest.fixture
def asked(monkeypatch):
    """What two sections are asked for."""
    asked = []

    def measure(**arguments):
        asked.append(arguments)
        return FOUND

    for name in ("one", "two"):
        made = types.ModuleType(name)
        made.measure = measure
        monkeypatch.setitem(sys.modules, f"made.{name}", made)
    sections = {"one": "made.one", "two": "made.two"}
    monkeypatch.setattr(benchmark, "SECTIONS", sections)
    return asked


def test_figures_on_the_screen_and_in_a_file(asked, tmp_path, capsys):
    path = tmp_path / "b.json"
    arguments = ["--size", "tiny", "--rounds", "2", "--json", str(path)]
    assert benchmark.main(arguments) == 0
    sizes = networks.sizes("tiny")
    assert asked == [{"sizes": sizes, "rounds": 2}] * 2
    shown = capsys.readouterr().out
    for expected in ("one, tiny", "two, tiny", "ratio   3.00", "30.0"):
        assert expected in shown
    assert "absent         not installed" in shown
    record = json.loads(path.read_text())
    assert record["sections"] == {"one": FOUND, "two": FOUND}
    assert record["size"] == "tiny" and record["processors"] >= 1
    assert record["versions"]["keras"]


def test_one_section(asked, capsys):
    assert benchmark.main(["--section", "two", "--rounds", "1"]) == 0
    assert "one, " not in capsys.readouterr().out
    assert asked == [{"sizes": networks.sizes("mini"), "rounds": 1}]


def test_every_section_is_there():
    for name in benchmark.SECTIONS.values():
        assert importlib.util.find_spec(name) is not None
