"""The command line, in processes of its own."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from gpt1_keras import workdir as workdir_lib

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = """\
from __gin__ import dynamic_registration
from tests.reference import recorded_run
"""
RECORD = (
    HEADER
    + """
RUN = @recorded_run.record
STEPS = 10
SEED = 0
LOG_STEPS = 1

recorded_run.record:
  steps = %STEPS
  build = @recorded_run.product
  log_steps = %LOG_STEPS

recorded_run.product.factor = %SEED
"""
)


@pytest.fixture
def call(tmp_path):
    """Return a function that runs main in tmp_path: arguments -> result."""

    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "gpt1_keras.main", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "record.gin"
    path.write_text(RECORD)
    return path


def assert_refused(result, *expected):
    """Exit status 2 and one line on stderr that holds all of `expected`."""
    assert result.returncode == 2, result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    for text in expected:
        assert text in lines[0]


def test_run_gets_files_settings_workdir_and_hash(call, record, tmp_path):
    overlay = tmp_path / "overlay.gin"
    overlay.write_text("STEPS = 20\nSEED = 1\n")
    result = call(
        *("--gin", "record.gin", "--gin", "overlay.gin"),
        *("--set", "SEED = 7", "--workdir", "out/x"),
    )
    assert (result.returncode, result.stderr) == (0, "")
    workdir = tmp_path / "out" / "x"
    arguments = json.loads((workdir / "arguments.json").read_text())
    sha256 = arguments.pop("config_sha256")
    assert arguments == {
        "workdir": "out/x",
        "steps": 20,
        "built": 21,
        "log_steps": 1,
    }
    config = (workdir / "config.gin").read_text()
    assert f"# config_sha256: {sha256}\n" in config
    assert "--set 'SEED = 7'" in config.splitlines()[0]


def test_written_config_runs_again_with_the_same_hash(call, record, tmp_path):
    assert call("--gin", record, "--workdir", "a").returncode == 0
    again = call("--gin", "a/config.gin", "--workdir", "b")
    assert again.returncode == 0, again.stderr
    first, second = (
        json.loads((tmp_path / name / "arguments.json").read_text())
        for name in "ab"
    )
    assert first["config_sha256"] == second["config_sha256"]


def test_workdir_belongs_to_one_config(call, record):
    assert call("--gin", record, "--workdir", "w").returncode == 0
    command = ("--gin", record, "--workdir", "w", "--set")
    assert_refused(call(*command, "SEED = 3"), "SEED 0 -> 3", "--workdir")
    assert call(*command, "LOG_STEPS = 5").returncode == 0
    assert call(*command, "SEED = 0").returncode == 0


def test_a_second_process_is_kept_out(call, record, tmp_path):
    with workdir_lib.held(tmp_path / "w"):
        result = call("--gin", record, "--workdir", "w")
        assert_refused(result, "w: another process is at work there")
        assert not list((tmp_path / "w").iterdir())
    assert call("--gin", record, "--workdir", "w").returncode == 0


def test_macro_workdir_serves_without_flag(call, record, tmp_path):
    result = call("--gin", record, "--set", 'WORKDIR = "inside"')
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "inside" / "arguments.json").exists()


def test_workdir_is_asked_for_where_the_run_needs_it(call, record, tmp_path):
    assert_refused(call("--gin", record), "--workdir DIR")
    (tmp_path / "say.gin").write_text(
        HEADER + 'RUN = @recorded_run.say\nrecorded_run.say.text = "hello"\n'
    )
    result = call("--gin", "say.gin")
    assert (result.returncode, result.stdout) == (0, "hello\n")


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ([], ["--gin"]),
        (["--gni", "x"], ["'gni'", "gin"]),
        (["--gin"], ["--gin"]),
        (["record.gin"], ["record.gin", "--gin"]),
        (["--gin", "recrod.gin"], ["recrod.gin", "no such file"]),
        (["--gin", "."], ["no such file"]),
    ],
)
def test_wrong_arguments(call, record, arguments, expected):
    assert_refused(call(*arguments), *expected)


@pytest.mark.parametrize(
    "setting, expected",
    [
        ("STEPZ = 3", ["STEPZ", "did you mean STEPS?"]),
        ("STEPS", ["NAME = VALUE"]),
        ("STEPS = 2 * 3", ["STEPS = 2 * 3", "arithmetic"]),
        ("STEPS = [1, 2", ["STEPS = [1, 2"]),
        ("SEED = some_text", ["SEED = some_text", "quotes"]),
        ("recorded_run.record.stepz = 3", ["stepz"]),
        ("recorded_run.recrod.steps = 3", ["recorded_run.recrod"]),
    ],
)
def test_wrong_settings(call, record, setting, expected):
    result = call("--gin", record, "--workdir", "w", "--set", setting)
    assert_refused(result, *expected)


def test_backend_that_does_not_exist(call, record):
    result = call("--gin", record, "--workdir", "w", KERAS_BACKEND="theano")
    assert_refused(result, "theano", "tensorflow, jax or torch")


def test_gin_config_not_installed(tmp_path):
    """Only the folder gin/ of the repository is found then."""
    result = subprocess.run(
        [sys.executable, "-S", "-m", "gpt1_keras.main", "--gin", "x.gin"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert_refused(result, "gin-config", "pip install -r requirements.txt")


def run_gin(tmp_path, function, more=""):
    path = tmp_path / "run.gin"
    path.write_text(f"{HEADER}RUN = @recorded_run.{function}\n{more}")
    return "--gin", path


def test_input_error_of_the_run_leaves_the_workdir_free(call, tmp_path):
    binding = "recorded_run.refuse.vocabulary = "
    command = run_gin(tmp_path, "refuse", f'{binding}"bad"')
    result = call(*command, "--workdir", "w")
    assert_refused(result, "bad: does not fit; take good")
    result = call(*command, "--workdir", "w", "--set", f'{binding}"good"')
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "w" / "done").exists()


def test_input_error_of_a_started_run_keeps_its_config(call, tmp_path):
    binding = "recorded_run.refuse.vocabulary = "
    command = run_gin(tmp_path, "refuse", f'{binding}"good"')
    assert call(*command, "--workdir", "w").returncode == 0
    result = call(*command, "--workdir", "w", "--set", f'{binding}"bad"')
    assert_refused(result, "'good' -> 'bad'")
    assert (tmp_path / "w" / "config.gin").exists()


def test_stopped_run_exits_3(call, tmp_path):
    result = call(*run_gin(tmp_path, "stop"), "--workdir", "w")
    assert result.returncode == 3
    assert result.stderr == "checkpoint in w; the same command goes on\n"


def test_interrupted_run_exits_1(call, tmp_path):
    result = call(*run_gin(tmp_path, "interrupt"))
    assert (result.returncode, result.stderr) == (1, "error: interrupted\n")


def test_defect_shows_its_traceback(call, tmp_path):
    result = call(*run_gin(tmp_path, "fail"))
    assert result.returncode == 1
    assert "Traceback" in result.stderr and "a defect" in result.stderr


def test_a_defect_before_anything_is_written_frees_the_workdir(call, tmp_path):
    result = call(*run_gin(tmp_path, "fail"), "--workdir", "w")
    assert result.returncode == 1
    assert not list((tmp_path / "w").iterdir())


def test_missing_module_of_somebody_else(call, tmp_path):
    result = call(*run_gin(tmp_path, "need_module"))
    assert_refused(result, "module_that_is_nowhere", "pip install")


def test_main_alone_imports_no_framework(record, tmp_path):
    """Runs import the framework, so that wrong input is refused at once."""
    program = (
        "import sys; from gpt1_keras import main;"
        f"status = main.main(['--gin', {str(record)!r},"
        f" '--workdir', {str(tmp_path / 'w')!r}]);"
        "print(status, sorted({'keras', 'tensorflow', 'torch', 'jax'}"
        " & sys.modules.keys()))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.stdout == "0 []\n", result.stderr


def test_help_names_the_flags(call):
    result = call("--help")
    assert result.returncode == 0
    for flag in ("--gin", "--set", "--workdir"):
        assert flag in result.stdout
