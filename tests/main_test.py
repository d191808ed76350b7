import io
import itertools
import json
import os
import re
import signal
import sys

import pytest

from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras import files
from gpt1_keras import main
from tests.reference import processes
from tests.reference import recorded_run

MODULE = "tests.reference.recorded_run"
HEADER = "from tests.reference import recorded_run\n"


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Call main in tmp_path; return exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "record.gin").write_text(recorded_run.GIN)

    def run(*arguments):
        capfd.readouterr()
        status = main.main(["--allow_module", MODULE, *map(str, arguments)])
        return status, *capfd.readouterr()

    return run


@pytest.fixture
def call_run(call, tmp_path):
    """Return a function that calls one of the recorded runs."""

    def run(function, *arguments, more=""):
        text = f"{HEADER}RUN = @recorded_run.{function}\n{more}"
        (tmp_path / "run.gin").write_text(text)
        return call("--gin", "run.gin", *arguments)

    return run


def assert_refused(result, *expected, status=2):
    """One line on stderr that holds all of `expected`."""
    assert result[0] == status, result
    (line,) = result[2].splitlines()
    assert line.startswith("error: ") and line.isprintable()
    for text in expected:
        assert text in line, (text, line)


def test_process_gets_files_settings_workdir_and_hash(tmp_path):
    (tmp_path / "record.gin").write_text(recorded_run.GIN)
    (tmp_path / "overlay.gin").write_text("\ufeffSTEPS = 20\nSEED = 1\n")
    result = processes.python(
        *("-m", "gpt1_keras.main", "--allow_module", MODULE),
        *("--gin", "record.gin", "--gin", "overlay.gin"),
        *("--set", "SEED = 7", "--workdir", "out/x"),
        cwd=tmp_path,
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
        # Runs import one, so that wrong input is refused at once.
        "frameworks": [],
    }
    config = (workdir / "config.gin").read_text()
    assert f"# config_sha256: {sha256}\n" in config
    assert '--set "SEED = 7"' in config.splitlines()[0]


def test_allowed_modules_are_loaded_for_the_classes_of_a_preset(
    call, tmp_path, monkeypatch
):
    """Though no gin file names them; from the current directory, too."""
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    name = f"mine_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("print('loaded')")
    found = call(
        *("--allow_module", name, "--gin", "record.gin", "--workdir", "w")
    )
    assert found[:2] == (0, "loaded\n")


def test_workdir_is_of_one_process(call, tmp_path):
    with files.exclusive(files.make_folder(tmp_path / "w")):
        result = call("--gin", "record.gin", "--workdir", "w")
        assert_refused(result, "w: another process is using it")
        assert not list((tmp_path / "w").glob("[!.]*"))


def test_wrong_arguments(call, monkeypatch):
    run = ("--gin", "record.gin", "--workdir", "w")
    for arguments, expected in (
        ([], ["--gin"]),
        (["--gni", "x"], ["'gni'", "gin"]),
        (["--gin"], ["--gin"]),
        (["record.gin"], ["record.gin", "--gin"]),
        (["--gin", "."], ["no such file"]),
        (["--gin", "a\0\n"], ["a\\x00\\n"]),
        ([*run, "--set", "STEPZ = 3"], ["STEPZ", "did you mean STEPS?"]),
        ([*run, "--set", "STEPS"], ["NAME = VALUE"]),
        ([*run, "--set", "STEPS = 2 * 3"], ["STEPS = 2 * 3", "arithmetic"]),
        ([*run, "--set", "STEPS =\n\0"], ["STEPS =\\n\\x00"]),
        (["--gin", "gin/generate.gin", *run[2:]], ["leave --workdir out"]),
        (["--gin", "record.gin", "--workdir="], ["--workdir is empty"]),
        ([*run, "--allow_module", "nowhere"], ["--allow_module nowhere: No"]),
    ):
        assert_refused(call(*arguments), *expected)
    monkeypatch.setenv("GPT1_KERAS_CACHE", "~nosuchuser/x")
    assert_refused(call(*run), "GPT1_KERAS_CACHE ~nosuchuser/x cannot be used")
    monkeypatch.setenv("GPT1_KERAS_CACHE", __file__)
    with pytest.raises(errors.InputError, match="another .* GPT1_KERAS_CACHE"):
        files.make_folder(files.cache_root() / "corpus")
    monkeypatch.setenv("KERAS_BACKEND", "theano")
    monkeypatch.setattr("sys.stdin", None)  # closed
    assert_refused(call(*run), "theano", "tensorflow, jax or torch")
    with main.sys.stdin as given:
        assert not given.read()


def test_environments_that_other_programs_set():
    """Python without docstrings; a file in place of a module."""
    for command in (["-OO", "-m", "gpt1_keras.main"], ["gpt1_keras/main.py"]):
        done = processes.python(*command, "--help", PYTHONPATH="")
        assert (done.returncode, done.stderr) == (0, "")
        assert "gin/pretrain.gin" in done.stdout


def test_a_removed_current_directory(call, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert_refused(call("--list"), "directory has been removed")


def test_output_that_the_terminal_cannot_encode(monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, "ascii"))
    assert main.main(["--help"]) == 0
    print("café", flush=True)
    assert printed.getvalue().endswith(b"caf\\xe9\n")


def test_a_refused_input_leaves_the_workdir_free(call_run, tmp_path):
    def refuse(vocabulary, workdir="w"):
        more = f"recorded_run.refuse.vocabulary = {vocabulary!r}\n"
        return call_run("refuse", "--workdir", workdir, more=more)

    assert_refused(refuse("bad\0"), "bad\\x00: does not fit; take good")
    assert refuse("good")[0] == 0
    assert (tmp_path / "w" / "done").exists()
    # A run that has written something keeps its config.
    assert_refused(refuse("bad"), "'good' -> 'bad'")
    assert (tmp_path / "w" / "config.gin").exists()


@pytest.mark.parametrize("fails", (False, True))
def test_a_workdir_that_is_moved_during_a_run(call_run, tmp_path, fails):
    more = f"recorded_run.move.fails = {fails}\n"
    result = call_run("move", "--workdir", "w", more=more)
    assert_refused(result, "w was moved or removed during the run: put it back")
    assert (tmp_path / "moved" / "config.gin").exists()


def test_exit_status_of_a_run_that_ends_early(call_run, tmp_path):
    def fail(error, *arguments):
        more = f"recorded_run.fail.error = {error!r}\n"
        return call_run("fail", *arguments, more=more)

    said = "checkpoint in w; the same command resumes\n"
    assert fail("signal", "--workdir", "w") == (3, "", said)
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    for collecting, name in itertools.product((True, False), names):
        more = f"recorded_run.interrupt.name = {name!r}\n"
        more += f"recorded_run.interrupt.collecting = {collecting}\n"
        former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        ended = call_run("interrupt", more=more)
        signal.signal(signal.SIGHUP, former)
        said = f"stopped by {name}; with --workdir, the same command resumes\n"
        assert ended == (3, "", said)
    status, _, stderr = call_run("swallow")
    assert (status, stderr[:18]) == (3, "stopped by SIGTERM")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    assert call_run("interrupt", more=more)[0] == 0
    signal.signal(signal.SIGHUP, former)
    assert_refused(fail("loss"), "loss is nan", status=1)
    assert_refused(fail("memory"), "not enough memory: lower", status=1)
    assert_refused(fail("full disk"), "out/x: No space left on device")
    assert_refused(fail("no path"), "Input/output error")
    assert_refused(fail("module"), "absent", "pip install")
    # A defect shows its traceback and frees the workdir.
    with pytest.raises(ZeroDivisionError, match="a defect"):
        fail("defect", "--workdir", "d")
    assert not list((tmp_path / "d").glob("[!.]*"))


def test_settings_are_listed_with_their_comments(call, tmp_path):
    lines = call("--list", "--gin", "gin/pretrain.gin")[1].splitlines()
    (line,) = [line for line in lines if line.startswith("BATCH_SIZE = 64 ")]
    assert line.endswith("sequences per step")
    assert "the faster of 'float32' and 'mixed_bfloat16'" in "".join(lines)
    assert any("clip_norm = 1.0 " in line for line in lines)
    own = tmp_path / "own.gin"
    own.write_text("include 'gin/view.gin'\nTEXT = 'a # b'    # mine\n")
    (line,) = re.findall("TEXT = .*", call("--list", "--gin", own)[1])
    assert re.fullmatch("TEXT = 'a # b' +mine", line)
    assert "FILE must" in call("--list", "--gin", "gin/finetune/custom.gin")[1]
    assert_refused(call("--list", "--gin", "gin/model/tiny.gin"), "no RUN")
    output = call("--list")[1]
    assert "gin/pretrain.gin" in output and "custom, mnli" in output


def test_only_known_noise_is_dropped(capfd):
    with console.without_noise():
        os.write(2, b"I0000 x\nkept\n")
    assert capfd.readouterr().err == "kept\n"
