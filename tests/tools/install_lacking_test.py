import subprocess
import sys

import pytest

FILE = """# Everything
# ftfy==0.0.1
keras==3.15.1
keras-hub==0.32.0
tensorflow==2.21.0
tensorflow-text==2.21.1
tensorflow-serving-api==2.21.0
grain==0.2.18
numpy==2.4.6

ftfy==6.3.1

# --- Tests and format ---
pytest==9.2.0
"""


@pytest.fixture
def tool(monkeypatch, request):
    monkeypatch.syspath_prepend(request.config.rootpath / "tools")
    import install_lacking

    return install_lacking


def test_a_machine_with_its_own_tensorflow_keeps_it(tool):
    """As on Colab: older versions of much, and some packages not at all."""
    there = {"keras": "3.10.0", "keras-hub": "0.21.1", "numpy": "2.0.2"}
    with_needs, alone = tool.lacking(FILE, there.get, has_tensorflow=True)
    assert with_needs == ["keras==3.15.1", "ftfy==6.3.1"]
    assert alone == ["keras-hub==0.32.0", "tensorflow-serving-api==2.21.0"]


def test_a_machine_without_tensorflow_gets_it(tool):
    there = {"keras": "3.15.1", "keras-hub": "0.32.0", "ftfy": "6.0.0"}
    with_needs, alone = tool.lacking(FILE, there.get, has_tensorflow=False)
    assert with_needs == [
        *("tensorflow==2.21.0", "tensorflow-text==2.21.1"),
        *("grain==0.2.18", "numpy==2.4.6"),
    ]
    assert alone == ["tensorflow-serving-api==2.21.0"]


def run(tool, monkeypatch, arguments, *, status=0):
    """Return (exit status, the commands that were to be run)."""
    commands = []

    def record(command):
        commands.append(command)
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(subprocess, "run", record)
    return tool.main(arguments), commands


def test_installs_in_two_commands(tool, monkeypatch, tmp_path):
    (tmp_path / "requirements.txt").write_text(FILE)
    (tmp_path / "requirements-no-tensorflow.txt").write_text("ftfy==6.3.1\n")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    there = {"keras": "3.15.1", "numpy": "2.4.6"}
    monkeypatch.setattr(tool, "_version", there.get)
    spec = tool.importlib.util.find_spec
    monkeypatch.setattr(
        tool.importlib.util,
        "find_spec",
        lambda name: "there" if name == "tensorflow" else spec(name),
    )
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    alone = ["keras-hub==0.32.0", "tensorflow-serving-api==2.21.0"]
    expected = [[*pip, "ftfy==6.3.1"], [*pip, "--no-deps", *alone]]
    assert run(tool, monkeypatch, []) == (0, expected)
    assert run(tool, monkeypatch, ["--dry_run"]) == (0, [])
    assert run(tool, monkeypatch, [], status=1) == (1, expected[:1])


def test_nothing_lacks_in_a_finished_environment(tool, monkeypatch, capsys):
    monkeypatch.setattr(tool, "lacking", lambda *_, **__: ([], []))
    assert run(tool, monkeypatch, []) == (0, [])
    assert capsys.readouterr().out == "nothing to install\n"
