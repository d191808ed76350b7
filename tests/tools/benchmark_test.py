import importlib
import inspect
import json
import re

import pytest

from gpt1_keras import errors
from tools import benchmark
from tools.benchmarks import contest
from tools.benchmarks import figure
from tools.benchmarks import growth
from tools.benchmarks import peak
from tools.benchmarks import probe
from tools.benchmarks import process


@pytest.mark.parametrize("name", benchmark.SECTIONS)
def test_section_is_documented_and_takes_what_it_is_given(name):
    module = importlib.import_module(benchmark.SECTIONS[name])
    assert module.__doc__
    taken = inspect.signature(module.measure).parameters
    assert {"sizes", "rounds"} <= taken.keys()
    assert ("data" in taken) == (name in benchmark._WITH_DATA)


def test_figures_are_shown_kept_and_drawn(capsys, monkeypatch, tmp_path):
    found = {
        "unit": "questions/s",
        "per_second": {"ours": 1234.5, "theirs": 2.345, "absent": None},
        "spread": {"ours": [1200.0, 1300.0], "theirs": [2.0, 2.5]},
        "first_seconds": {"ours": 1.0, "theirs": 2.0},
        "ratios": {"theirs": 0.5},
        "ratio_spread": {"theirs": [0.25, 0.75]},
        "equal": True,
    }
    memory = {"unit": "GB", "values": {"1": 0.875}}
    call, given = process.call, []

    def measured(module, function, **options):
        given.append((module, options))
        if module == "not_installed":
            return call(module, function, **options)
        return {probe.__name__: found, peak.__name__: memory}[module]

    monkeypatch.setattr(process, "call", measured)
    monkeypatch.setitem(benchmark.SECTIONS, "rows", "not_installed")
    path = tmp_path / "bars.figure"
    command = f"--section probe --section peak rows --json {path} --data own"
    with pytest.raises(SystemExit) as stop:
        benchmark.main(command.split())
    assert stop.value.code == 2
    with_data = {name: options.get("data") for name, options in given}
    assert with_data == {
        probe.__name__: "own",
        peak.__name__: None,
        "not_installed": None,
    }
    figure.draw(json.loads(path.read_text()), path)
    assert path.read_bytes()[1:4] == b"PNG"
    shown = re.sub(" +", " ", capsys.readouterr().out).splitlines()
    assert shown == [
        "probe, mini (questions/s; first call with compilation)",
        " ours 1,234.5 first 1.00 s",
        " theirs 2.35 first 2.00 s ratio 0.50 (0.25 to 0.75)",
        " absent not installed",
        " equal True",
        "peak, mini (GB)",
        " 1 0.88",
    ]


def test_arguments(tmp_path):
    with pytest.raises(errors.InputError, match="--json .* existing folder"):
        benchmark._parse(["--json", str(tmp_path)])


def test_exponents_and_the_peak_of_a_process():
    assert growth._exponent((1, 2, 4), (3.0, 12.0, 48.0)) == 2
    assert growth._exponent((1, 2, 4), (0.0, 0.0, 0.0)) == 0
    block = b"x" * 300_000_000
    assert 0.3 < process.peak() < 100 and block  # GB


def test_a_section_in_a_process_of_its_own(capfd):
    assert process.call("json", "dumps", obj=["é"]) == '["\\u00e9"]'
    with pytest.raises(errors.RunError, match="^os was ended by SIGABRT$"):
        process.call("os", "abort")
    with pytest.raises(SystemExit, match="2"):
        process.call("not_installed", "measure")
    assert "not_installed failed" in capfd.readouterr().err


def test_contenders_apart_are_timed_last_beside_ours():
    called = []
    contenders = {
        name: lambda name=name: called.append(name) for name in "abcd"
    } | {"e": None}
    found, answers = contest.run(
        contenders, rounds=2, work=1, peer_of="b", apart=["c", "e"]
    )
    assert "".join(called) == "abdabdabdcbcbc"
    assert found["ratios"].keys() == {"a", "c", "d"}
    assert found["per_second"].keys() == set("abcde")
    assert found["per_second"]["e"] is None and answers.keys() == set("abcd")
