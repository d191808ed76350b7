"""Runs that are killed, stopped or out of room, and resumed.

However often a run is killed, it ends with the metrics, weights and preset of
one left alone. The long form counts kills:

    FAULT_KILLS=1000 python -m pytest -m slow -s tests/faults -k long
"""

import collections
import functools
import os
import pathlib
import random
import signal
import subprocess
import time

import keras
import pytest

from gpt1_keras import files
from tests.reference import kill_run
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


class Preparation(kill_run.Experiment):
    gin_files = ("gin/prepare.gin",)

    def make_input(self):
        many = {"num_books": 30, "num_sentences": 200}
        books = kill_run.write_books(self.directory / "many", **many)
        return {"CORPUS": str(books), "VOCABULARY_SIZE": 150}


class Grid(tiny_task.Experiment):
    gin_files = ("gin/grid.gin",)


class Export(tiny_task.Experiment):
    gin_files = ("gin/export.gin",)

    def make_input(self):
        given = super().make_input()
        model = self.directory / "fine_tuned"
        tiny_fine_tuned.write(model, "cola", given["PRESET"])
        return {"DATA_DIR": given["DATA_DIR"], "PRESET": str(model)}


class RawText(kill_run.Experiment):
    gin_files = (*kill_run.Experiment.gin_files, "gin/data/raw_text.gin")


FINE_TUNE = functools.partial(tiny_task.Experiment, NUM_EPOCHS=1, SEEDS=(1, 2))
TWO_ROWS = {"TASKS": ("cola",), "ROWS": ("full", "no_auxiliary_lm")}
EXPERIMENTS = {
    "prepare": Preparation,
    "pretrain": kill_run.Experiment,
    "finetune": FINE_TUNE,
}
LONG = EXPERIMENTS | {
    "raw text": RawText,
    "grid": functools.partial(Grid, NUM_EPOCHS=1, **TWO_ROWS),
    "export": Export,
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return a function: name -> (experiment, a finished run, its seconds)."""

    @functools.cache
    def run(name):
        directory = tmp_path_factory.mktemp(name)
        experiment = LONG[name](directory)
        started = time.monotonic()
        workdir = experiment.must_finish(directory / "undisturbed")
        return experiment, workdir, time.monotonic() - started

    return run


def killed_once(experiment, workdir, seconds):
    """Start a run and kill it after some seconds; return whether it was."""
    process = experiment.start(workdir)
    try:
        status = process.wait(seconds)
    except TimeoutError:  # `wait` killed it.
        return True
    assert status == 0, pathlib.Path(f"{workdir}.log").read_text()
    return False


def kill_and_compare(undisturbed, name, draws, kills):
    """Kill a run at random moments, then finish it; return the counts."""
    experiment, expected, seconds = undisturbed(name)
    counts = collections.Counter()
    while counts["killed"] < kills:
        assert counts["finished"] < 9 + 2 * kills  # Kills must come in time.
        workdir = experiment.directory / f"killed_{counts['finished']}"
        before, started = counts["killed"], time.monotonic()
        while killed_once(experiment, workdir, draws.uniform(0, seconds)):
            counts["killed"] += 1
            if counts["killed"] >= kills:
                break
        if counts["killed"] == before:
            # It takes less than the first run, which also loads modules.
            seconds = min(seconds, time.monotonic() - started)
        experiment.must_finish(workdir)
        counts["finished"] += 1
        assert kill_run.differences(expected, workdir) == [], workdir
    return counts


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_killed_run_ends_as_one_left_alone(undisturbed, name):
    kill_and_compare(undisturbed, name, random.Random(name), kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_form(undisturbed, name):
    is_everywhere = name not in ("raw text", "export")
    if not is_everywhere and keras.config.backend() != "tensorflow":
        pytest.skip("for the TensorFlow backend")
    kills = int(os.environ.get("FAULT_KILLS", 30)) // len(LONG)
    counts = kill_and_compare(undisturbed, name, random.Random(0), kills)
    print(f"\n{name}: {dict(counts)}, no differences")


@pytest.mark.parametrize("name", ["prepare", "pretrain"])
def test_no_file_may_grow(undisturbed, name):
    """As on a full disk: one line, and the same command resumes."""
    experiment, expected, _ = undisturbed(name)
    workdir = experiment.directory / "full"
    for limit in (2_000, 30_000):
        place = {"FILE_SIZE_LIMIT": str(limit)}
        process = experiment.start(workdir, environment=place)
        assert_refused(process, f"{workdir}.log", "oo large")
        assert not (workdir / "result.json").exists()
        for path in workdir.rglob(files.CHECKSUMS):
            files.check_seal(path.parent)
    experiment.must_finish(workdir)
    assert kill_run.differences(expected, workdir) == []


def assert_refused(process, log, expected):
    status, output = process.wait(), pathlib.Path(log).read_text()
    assert status == 2, output
    last = output.strip().splitlines()[-1]
    assert last.startswith("error: ") and expected in last
    assert "Traceback" not in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, room", [("prepare", 80), ("pretrain", 400), ("finetune", 400)]
)
def test_a_full_disk(undisturbed, name, room, tmp_path):
    experiment, expected, _ = undisturbed(name)

    def mount(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", tmp_path]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("no permission to mount")

    mount("size=32k")
    workdir = tmp_path / "run"
    try:
        for size in (32, room, 100_000):
            mount(f"remount,size={size}k")
            log = experiment.directory / "full_disk.log"
            # The prepared corpus lies on this disk, too.
            place = {"GPT1_KERAS_CACHE": str(tmp_path / "cache")}
            process = experiment.start(workdir, log=log, environment=place)
            if size == 100_000:
                assert process.wait() == 0, log.read_text()
                break
            assert_refused(process, log, "No space left")
            assert not (workdir / "result.json").exists()
        assert kill_run.differences(expected, workdir) == []
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.slow
def test_two_processes_and_a_clock_set_back(undisturbed):
    """The second process is refused; files from the future are resumed."""
    experiment, expected, _ = undisturbed("pretrain")
    workdir = experiment.directory / "two"
    metrics = workdir / "metrics.jsonl"
    first = experiment.start(workdir)
    while kill_run.last_step(metrics) < 7 and first.poll() is None:
        time.sleep(0.002)
    first.send_signal(signal.SIGSTOP)
    log = experiment.directory / "second.log"
    process = experiment.start(workdir, log=log)
    assert_refused(process, log, "another process")
    first.send_signal(signal.SIGKILL)
    first.wait()
    tomorrow = time.time() + 86_400
    for path in workdir.rglob("*"):
        os.utime(path, (tomorrow, tomorrow))
    experiment.must_finish(workdir)
    assert kill_run.differences(expected, workdir) == []


@pytest.mark.slow
@pytest.mark.backends
@pytest.mark.only_on("tensorflow")  # Once is enough.
@pytest.mark.parametrize(
    "backend, dtype",
    [
        *(("jax", "float32"), ("torch", "float32")),
        *(("tensorflow", "mixed_bfloat16"), ("jax", "mixed_bfloat16")),
        ("torch", "mixed_bfloat16"),
    ],
)
def test_killed_run_on_every_backend(tmp_path, backend, dtype):
    pytest.importorskip(backend)
    experiment = kill_run.Experiment(tmp_path, backend=backend, DTYPE=dtype)
    undisturbed = experiment.must_finish(tmp_path / "undisturbed")
    workdir, draws = tmp_path / "x", random.Random(0)
    for step in sorted(draws.sample(range(1, kill_run.NUM_STEPS - 1), 3)):
        status, output = experiment.send(
            workdir, signal.SIGKILL, step=step, delay=draws.random() / 20
        )
        assert status == -signal.SIGKILL, output
    experiment.must_finish(workdir)
    assert kill_run.differences(undisturbed, workdir) == []


def finish_workers(experiment, workdir):
    for process in experiment.start_workers(workdir, 2):
        assert process.wait() == 0, log_of(workdir, 0)


def log_of(workdir, worker):
    return pathlib.Path(f"{workdir}.{worker}.log").read_text()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    """A run that two processes finished: experiment and workdir."""
    experiment = kill_run.Experiment(tmp_path_factory.mktemp("workers"))
    workdir = experiment.directory / "two_workers"
    finish_workers(experiment, workdir)
    return experiment, workdir


@pytest.mark.slow
@pytest.mark.only_on("tensorflow")
@pytest.mark.parametrize(
    "victim, name, saved_by_all",
    [(0, "SIGKILL", False), (1, "SIGKILL", False), (1, "SIGTERM", True)],
)
def test_workers_stop_together_and_continue(
    two_workers, victim, name, saved_by_all
):
    """Dropout is on: replicas draw their own masks, and the same ones again."""
    experiment, finished = two_workers
    workdir = experiment.directory / f"workers_{victim}_{name}"
    metrics = workdir / "metrics.jsonl"
    processes = experiment.start_workers(workdir, 2)
    deadline = time.monotonic() + kill_run.TIME_LIMIT
    while kill_run.last_step(metrics) < 7 and time.monotonic() < deadline:
        time.sleep(0.002)
    processes[victim].send_signal(signal.Signals[name])
    expected = [3, 3]
    if not saved_by_all:
        expected[victim] = -signal.Signals[name]
    assert [process.wait() for process in processes] == expected
    step, _ = kill_run.last_checkpoint(workdir)
    assert step >= 6 + saved_by_all
    last = log_of(workdir, 1 - victim).strip().splitlines()[-1]
    assert "resume" in last
    said = "a signal to another worker" if saved_by_all else "has ended"
    assert said in last
    finish_workers(experiment, workdir)
    assert kill_run.differences(finished, workdir) == []
