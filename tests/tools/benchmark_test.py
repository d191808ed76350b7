import importlib.util
import json
import pathlib
import sys
import types

import pytest

from tools.benchmarks import networks

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/benchmark.py"
FOUND = {
    "unit": "tokens/s",
    "per_second": {"ours": 30.0, "theirs": 10.0, "absent": None},
    "first_seconds": {"ours": 2.0, "theirs": 1.0},
    "ratios": {"theirs": 3.0},
    "texts_equal": True,
}


@pytest.fixture
def tool(monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmark", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    asked = []

    def measure(**arguments):
        asked.append(arguments)
        return FOUND

    for name in ("one", "two"):
        made = types.ModuleType(name)
        made.measure = measure
        monkeypatch.setitem(sys.modules, f"made.{name}", made)
    monkeypatch.setattr(
        module, "SECTIONS", {"one": "made.one", "two": "made.two"}
    )
    module.asked = asked
    return module


def test_figures_on_the_screen_and_in_a_file(tool, tmp_path, capsys):
    path = tmp_path / "b.json"
    arguments = ["--size", "tiny", "--rounds", "2", "--json", str(path)]
    assert tool.main(arguments) == 0
    sizes = networks.sizes("tiny")
    assert tool.asked == [{"sizes": sizes, "rounds": 2}] * 2
    shown = capsys.readouterr().out
    for expected in ("one, tiny", "two, tiny", "ratio   3.00", "30.0"):
        assert expected in shown
    assert "absent         not installed" in shown
    record = json.loads(path.read_text())
    assert record["sections"] == {"one": FOUND, "two": FOUND}
    assert record["size"] == "tiny" and record["processors"] >= 1
    assert record["versions"]["keras"]


def test_one_section(tool, capsys):
    assert tool.main(["--section", "two", "--rounds", "1"]) == 0
    assert "one, " not in capsys.readouterr().out
    assert tool.asked == [{"sizes": networks.sizes("mini"), "rounds": 1}]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--section", "three"], "three"),
        (["--size", "huge"], "huge"),
        (["--rounds", "0"], "--rounds is 0"),
        (["--json", "nowhere/b.json"], "no such folder"),
    ],
)
def test_mistakes_are_told_in_one_line(tool, capsys, arguments, expected):
    assert tool.main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == "" and not tool.asked
    assert told.err.startswith("error: ") and told.err.count("\n") == 1
    assert expected in told.err


def test_help_names_every_section(tool, capsys):
    with pytest.raises(SystemExit, match="0"):
        tool.main(["--help"])
    assert "--section NAME  one, two; default" in capsys.readouterr().out


def test_every_section_is_there():
    spec = importlib.util.spec_from_file_location("benchmark", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in module.SECTIONS.values():
        assert importlib.util.find_spec(name) is not None
