"""Through `gpt1_keras.main`, where neither TensorFlow nor Keras is there."""

import os
import subprocess
import sys

import pytest

from gpt1_keras import errors
from gpt1_keras.runs import report
from tests.reference import fake_workdirs
from tests.reference import tiny_fine_tuned

ROOT = tiny_fine_tuned.ROOT
PROGRAM = """
import sys
for name in ("tensorflow", "keras", "keras_hub", "jax", "torch"):
    sys.modules[name] = None
from gpt1_keras import main
sys.exit(main.main(sys.argv[1:]))
"""


def call(workdir, results, cwd):
    """Return (exit status, output) of the run in a process of its own.

    Without a workdir it is the one of gin/report.gin.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--gin", "gin/report.gin"]
        + ["--set", f"RESULTS = {results!r}"]
        + (["--workdir", workdir] if workdir else []),
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def snapshot(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_report_of_two_folders_twice(tmp_path):
    out = tmp_path / "out"
    fake_workdirs.finetune(out / "rte", "rte", {"accuracy": 0.4321})
    lines = [{"step": 1, "split": "held_out", "perplexity": 80.0}]
    fake_workdirs.pretrain(tmp_path / "books", lines)
    before = snapshot(out)
    for workdir in ("out/report", None):
        status, output = call(workdir, ("out", "books"), tmp_path)
        assert status == 0, output
        text = (out / "report" / "report.html").read_text()
        assert "43.2" in text and "books" in text
        assert not (out / "report" / "result.json").exists()
        assert (out / "report" / "plots" / "learning_curves.png").exists()
        # The next report finds one more run, and a damaged one; its own folder
        # is none.
        fake_workdirs.finetune(out / "cola", "cola", {"matthews": 0.1234})
        fake_workdirs.write_lines(tmp_path / "books" / "x", [{"loss": 2.0}])
    assert "12.3" in text and "out/report" not in text
    assert "books/x/metrics.jsonl:1: damaged, expected a step" in text
    assert "books/x is left out" in output
    after = snapshot(out)
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize(
    "results, expected",
    [
        ("empty", "no readable result.json in or below empty"),
        (("empty", "gone"), "gone is not a folder"),
        ((), "give a folder"),
        (3, "give a folder"),
        (("empty", 5), "give a folder"),
    ],
)
def test_wrong_results(tmp_path, monkeypatch, results, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.InputError, match=expected) as caught:
        report.report(
            workdir=tmp_path / "report",
            results=results,
            constants={},
            paper={},
            table5={},
        )
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report").exists()


def test_wrong_results_end_in_one_line(tmp_path):
    status, output = call("report", "gone", tmp_path)
    assert status == 2
    assert "gone is not a folder" in output.splitlines()[-1]
    assert "Traceback" not in output
    assert not (tmp_path / "report" / "config.gin").exists()
