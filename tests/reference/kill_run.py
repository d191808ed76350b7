"""Runs in processes of their own, that tests kill, and what they leave."""

import json
import multiprocessing
import os
import pathlib
import random
import resource
import signal
import sys
import time

import safetensors.numpy

from gpt1_keras import files
from gpt1_keras import results
from tests.reference import cluster
from tests.reference import processes
from tests.reference.processes import ROOT

TIME_LIMIT = 600.0  # seconds for one process
NUM_STEPS = 20
_PRELOADED = [
    *("keras_hub", "tensorboard.summary.writer.record_writer"),
    *("gpt1_keras.main", "gpt1_keras.config", "gpt1_keras.runs.pretrain"),
    *("gpt1_keras.runs.finetune", "gpt1_keras.runs.sources"),
    *("gpt1_keras.runs.evaluate", "gpt1_keras.runs.zero_shot"),
    "gpt1_keras.runs.prepare",
]

# Dropout on, two micro-batches per update; checkpoints, evaluations and
# samples at intervals that seldom meet.
SETTINGS = {
    **{"VOCABULARY_SIZE": 200, "NUM_LAYERS": 2, "NUM_HEADS": 2},
    **{"HIDDEN_DIM": 16, "INTERMEDIATE_DIM": 32, "NUM_POSITIONS": 32},
    **{"SEQUENCE_LENGTH": 16, "DROPOUT": 0.1, "DTYPE": "float32"},
    **{"BATCH_SIZE": 4, "MICROBATCH_SIZE": 2, "NUM_STEPS": NUM_STEPS},
    **{"PEAK_LEARNING_RATE": 1e-2, "WARMUP_STEPS": 3},
    "sources.Corpus.held_out_fraction": 0.34,
    "fit.Intervals.log_steps": 1,
    "fit.Intervals.checkpoint_steps": 3,
    "fit.Intervals.evaluation_steps": 4,
    "held_out.Evaluation.tokens": 100,
    "held_out.Evaluation.stride": 8,
    "fit.Intervals.sample_steps": 5,
    "pretrain.Sampling.prompt": "the",
    "pretrain.Sampling.num_tokens": 12,
}
_WORDS = (
    "the a old young tall quiet captain doctor sister garden harbour letter "
    "walked waited opened found carried watched and but while over under near"
).split()


def write_books(directory, *, num_books=6, num_sentences=60):
    """Write small books of random sentences, the same on every call."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    draws = random.Random(0)
    for book in range(num_books):
        sentences = [
            " ".join(draws.choices(_WORDS, k=draws.randint(4, 9))) + "."
            for _ in range(num_sentences)
        ]
        paragraphs = [
            " ".join(sentences[start : start + 5])
            for start in range(0, num_sentences, 5)
        ]
        text = "\n\n".join(paragraphs) + "\n"
        path = directory / f"book_{book}.txt"
        # The cache of prepared corpora knows files by their time.
        if not path.exists():
            path.write_text(text, encoding="utf-8")
    return directory


class Process:
    """A run in a new process, or a fork of one that has imported all modules."""

    def __init__(self, arguments, log, environment, is_forked):
        method = "forkserver" if is_forked else "spawn"
        context = multiprocessing.get_context(method)
        context.set_forkserver_preload(_PRELOADED)
        self._process = context.Process(
            target=_call_main, args=(arguments, str(log), environment)
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=TIME_LIMIT):
        self._process.join(timeout)
        if self.poll() is None:
            self._process.kill()
            self._process.join()
            raise TimeoutError(f"still at work after {timeout} s")
        return self.poll()

    def send_signal(self, number):
        os.kill(self.pid, number)


def _call_main(arguments, log, environment):
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(ROOT)
    # A shell's background jobs ignore Ctrl-C, and so would their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(environment)
    limit = environment.get("FILE_SIZE_LIMIT")
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), -1))
    from gpt1_keras import main

    status = main.main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class Experiment:
    """One configuration that several processes run, below a folder."""

    gin_files = ("gin/pretrain.gin", "gin/model/tiny.gin")

    def __init__(self, directory, *, backend=None, **settings):
        self.directory = pathlib.Path(directory)
        self.settings = self.make_input() | settings
        self.is_forked = backend in (None, os.environ.get("KERAS_BACKEND"))
        self.environment = {
            "GPT1_KERAS_CACHE": str(self.directory / "cache"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        if backend:
            self.environment["KERAS_BACKEND"] = backend

    def make_input(self):
        """Write what the runs read; return the settings."""
        corpus = write_books(self.directory / "books")
        return SETTINGS | {"CORPUS": str(corpus)}

    def start(self, workdir, *, log=None, environment=None, **settings):
        """Start a process; its output goes to `<workdir>.log`."""
        arguments = processes.arguments(
            self.gin_files, workdir, **self.settings | settings
        )
        log = log or f"{workdir}.log"
        environment = self.environment | (environment or {})
        return Process(arguments, log, environment, self.is_forked)

    def start_workers(self, workdir, count):
        """Start processes that share the work; logs in `<workdir>.N.log`."""
        return [
            self.start(
                workdir,
                log=f"{workdir}.{i}.log",
                environment=environment,
                STRATEGY="multi_worker",
            )
            for i, environment in enumerate(cluster.environments(count))
        ]

    def must_finish(self, workdir):
        status = self.start(workdir).wait()
        if status:
            log = pathlib.Path(f"{workdir}.log").read_text()
            raise RuntimeError(f"exit {status}: {log}")
        return pathlib.Path(workdir)

    def send(self, workdir, number, *, step, delay=0.0):
        """Send a signal once `step` is logged; return status and output."""
        metrics = pathlib.Path(workdir) / "metrics.jsonl"
        before = _identity(metrics)
        process = self.start(workdir)
        deadline = time.monotonic() + TIME_LIMIT
        # A process that continues first replaces the file of the one before.
        while process.poll() is None and time.monotonic() < deadline:
            if _identity(metrics) != before and last_step(metrics) >= step:
                break
            time.sleep(0.001)
        time.sleep(delay)
        process.send_signal(number)
        return process.wait(), pathlib.Path(f"{workdir}.log").read_text()


def _identity(path):
    return path.stat().st_ino if path.exists() else None


def last_step(metrics):
    """Return the step of the last whole line of a `metrics.jsonl`, or 0."""
    found = results.read_metrics(metrics)
    return found[-1]["step"] if found else 0


def last_checkpoint(workdir):
    """Return (step, `{key: array}`) of the newest checkpoint."""
    folder = max((pathlib.Path(workdir) / "checkpoints").glob("[0-9]*"))
    arrays = safetensors.numpy.load_file(folder / "state.safetensors")
    return int(folder.name), arrays


def lines(workdir, split=None):
    """Return lines of `metrics.jsonl`, less what measures time."""
    timed = {"seconds", "tokens_per_second", "gflops_per_second"}
    timed.add("share_of_peak")
    text = (pathlib.Path(workdir) / "metrics.jsonl").read_text()
    found = map(json.loads, text.splitlines())
    found = (x for x in found if split in (None, x.get("split")))
    return [{k: line[k] for k in line if k not in timed} for line in found]


def outcome(workdir):
    """Return `{name: content}` of what two equal runs leave alike.

    Not times, commits, pictures and the workdir's path; of the checkpoints
    only the last state, of a SavedModel, which has random names, the sizes.
    """
    workdir = pathlib.Path(workdir)
    others = {"tensorboard", "plots", "checkpoints", "config.gin"}
    found = {}
    for path in workdir.rglob("*"):
        name = path.relative_to(workdir)
        if path.name == "checkpoints":
            states = path.glob("[0-9]*/state.safetensors")
            found[str(name)] = max(states).read_bytes()
        elif path.is_dir() or not others.isdisjoint(name.parts):
            continue
        elif path.name in ("result.json", files.CHECKSUMS):
            facts = json.loads(path.read_text().replace(str(workdir), ""))
            for timed in ("seconds", "git_commit"):
                facts.pop(timed, None)
            facts.get("files", {}).pop("metadata.json", None)
            if "saved_model.pb" in facts.get("files", {}):  # see below
                facts["files"] = sorted(facts["files"])
            found[str(name)] = facts
        elif path.name == "metrics.jsonl":
            found[str(name)] = lines(path.parent)
        elif path.name == "saved_model.pb":
            found[str(name)] = path.stat().st_size
        elif path.name not in ("metadata.json", "fingerprint.pb"):
            # They have the date and random numbers of varying length.
            content = path.read_bytes()
            found[str(name)] = content.replace(str(workdir).encode(), b"")
    return found


def differences(first, second):
    """Return the names of what differs between two finished workdirs."""
    ours, theirs = map(outcome, (first, second))
    return [
        name for name in ours | theirs if ours.get(name) != theirs.get(name)
    ]
