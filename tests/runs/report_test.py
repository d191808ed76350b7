"""Through `gpt1_keras.main`, where neither TensorFlow nor Keras is there."""

from tests.reference import fake_workdirs
from tests.reference import processes
from tests.reference import tiny_fine_tuned

PROGRAM = """
import sys
for name in ("tensorflow", "keras", "keras_hub", "jax", "torch"):
    sys.modules[name] = None
from gpt1_keras import main
sys.exit(main.main(sys.argv[1:]))
"""


def call(workdir, results, cwd):
    """Return (exit status, output); workdir None: that of the gin file."""
    done = processes.python(
        *("-c", PROGRAM, "--gin", "gin/report.gin"),
        *("--set", f"RESULTS = {results!r}"),
        *(["--workdir", workdir] if workdir else []),
        cwd=cwd,
    )
    return done.returncode, done.stdout + done.stderr


def test_report_of_two_folders_twice(tmp_path):
    out = tmp_path / "out"
    fake_workdirs.finetune(out / "rte", "rte", {"accuracy": 0.4321})
    lines = [{"step": 1, "split": "held_out", "perplexity": 80.0}]
    fake_workdirs.pretrain(tmp_path / "books", lines)
    before = tiny_fine_tuned.contents(out)
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
    after = tiny_fine_tuned.contents(out)
    assert {path: after[path] for path in before} == before


def test_report_of_the_measured_results(tmp_path):
    """`docs/results/report.md` is what the command in RESULTS.md writes."""
    done = processes.python(
        *("-m", "gpt1_keras.main", "--gin", "gin/report.gin"),
        *("--set", "RESULTS = 'docs/results'", "--workdir", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    kept = processes.ROOT / "docs" / "results" / "report.md"
    assert (tmp_path / "report.md").read_text() == kept.read_text()
