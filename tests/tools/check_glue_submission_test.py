import pathlib
import subprocess
import sys
import zipfile

from gpt1_keras.evaluation import glue_submission

TOOL = (
    pathlib.Path(__file__).resolve().parents[2]
    / "tools/check_glue_submission.py"
)


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, str(TOOL), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


def test_submissions_and_their_problems(tmp_path):
    path, _ = glue_submission.write(tmp_path, {})
    expected = "glue_submission.zip: 11 files, no problem\n"
    assert run(tmp_path, path.name) == (0, expected, "")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("WNLI.tsv", "index\tprediction\n0\tyes\n")
    status, output, _ = run(tmp_path, "a.zip")
    lines = output.splitlines()
    assert (status, len(lines)) == (2, 12)
    assert "CoLA.tsv is missing" in lines
    assert "WNLI.tsv: 1 rows, but the test file has 146" in lines


def test_arguments(tmp_path):
    for arguments, message in (
        ((), "0 files are given"),
        (("a.zip", "b.zip"), "2 files are given"),
        (("no.zip",), "no.zip is not a file"),
        (("--strict", "a.zip"), "unknown option --strict"),
    ):
        status, output, error = run(tmp_path, *arguments)
        assert (status, output, error.count("\n")) == (2, "", 1)
        assert error.startswith("error: ") and message in error
    status, output, _ = run(tmp_path, "--help")
    assert status == 0
    assert "tools/check_glue_submission.py FILE.zip" in output
