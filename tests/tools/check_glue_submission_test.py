import pathlib
import subprocess
import sys
import zipfile

import pytest

from gpt1_keras.evaluation import glue_submission

TOOL = (
    pathlib.Path(__file__).resolve().parents[2]
    / "tools/check_glue_submission.py"
)


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, str(TOOL), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_whole_submission(tmp_path):
    path, _ = glue_submission.write(tmp_path, {})
    done = run(tmp_path, path.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "glue_submission.zip: 11 files, no problem\n"


def test_problems_are_printed(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("WNLI.tsv", "index\tprediction\n0\tyes\n")
    done = run(tmp_path, "a.zip")
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert len(lines) == 12
    assert "CoLA.tsv is missing" in lines
    assert "WNLI.tsv: 1 rows, but the test file has 146" in lines


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "0 files are given"),
        (("a.zip", "b.zip"), "2 files are given"),
        (("no.zip",), "no.zip is no file"),
        (("--strict", "a.zip"), "unknown option --strict"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, message):
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and message in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_help(tmp_path):
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    assert "tools/check_glue_submission.py FILE.zip" in done.stdout
