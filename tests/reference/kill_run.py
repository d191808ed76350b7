"""Pretraining in processes that are killed, against one left alone.

    python -m tests.reference.kill_run --backend jax --dtype float32 --kills 3

trains a small network on a small corpus twice: once undisturbed, once killed
with SIGKILL at random moments and started again until it is done. Then the
last checkpoints must agree bit for bit, and `metrics.jsonl` and the result in
everything but time. Exit status 0 if they do.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import safetensors.numpy

from tests.reference import cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TIME_LIMIT = 600.0  # seconds for one process
NUM_STEPS = 20

# Dropout on, two micro-batches per update; checkpoints, evaluations and
# samples at intervals that seldom meet.
SETTINGS = {
    "VOCABULARY_SIZE": 200,
    "NUM_LAYERS": 2,
    "NUM_HEADS": 2,
    "HIDDEN_DIM": 16,
    "INTERMEDIATE_DIM": 32,
    "NUM_POSITIONS": 32,
    "SEQUENCE_LENGTH": 16,
    "DROPOUT": 0.1,
    "BATCH_SIZE": 4,
    "MICROBATCH_SIZE": 2,
    "NUM_STEPS": NUM_STEPS,
    "PEAK_LEARNING_RATE": 1e-2,
    "WARMUP_STEPS": 3,
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


class Experiment:
    """One configuration that several processes run.

    Args:
        directory: path for corpus, cache and workdirs.
        backend: str, of Keras.
        settings: dict, in place of or beside `SETTINGS`.
    """

    gin_files = ("gin/pretrain.gin", "gin/model/tiny.gin")

    def __init__(self, directory, *, backend, **settings):
        self.directory = pathlib.Path(directory)
        self.settings = self.make_input() | settings
        self.environment = os.environ | {
            "KERAS_BACKEND": backend,
            "GPT1_KERAS_CACHE": str(self.directory / "cache"),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }

    def make_input(self):
        """Write what the runs read; return the settings."""
        corpus = write_books(self.directory / "books")
        return SETTINGS | {"CORPUS": str(corpus)}

    def command(self, workdir, **settings):
        """Return the command line, with `settings` in place of others."""
        command = [sys.executable, "-m", "gpt1_keras.main"]
        for name in self.gin_files:
            command += ["--gin", name]
        for name, value in (self.settings | settings).items():
            command += ["--set", f"{name} = {value!r}"]
        return [*command, "--workdir", str(workdir)]

    def start(self, workdir, **settings):
        """Start a process; its stderr goes to `<workdir>.log`."""
        return self._start(
            self.command(workdir, **settings), f"{workdir}.log", {}
        )

    def start_workers(self, workdir, count, **settings):
        """Start processes that share the work; logs in `<workdir>.N.log`."""
        command = self.command(workdir, STRATEGY="multi_worker", **settings)
        return [
            self._start(command, f"{workdir}.{i}.log", environment)
            for i, environment in enumerate(cluster.environments(count))
        ]

    def _start(self, command, log, environment):
        with open(log, "w", encoding="utf-8") as file:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def finish(self, workdir, **settings):
        """Run to the end and return (exit status, output)."""
        status = self.start(workdir, **settings).wait(TIME_LIMIT)
        return status, pathlib.Path(f"{workdir}.log").read_text()

    def send(self, workdir, number, *, step, delay=0.0):
        """Start, send a signal once `step` is logged, and wait for the end.

        Returns:
            exit status, output, and the steps whose line was written.
        """
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
        status = process.wait(TIME_LIMIT)
        output = pathlib.Path(f"{workdir}.log").read_text()
        return status, output, last_step(metrics)

    def kill_and_finish(self, workdir, *, kills, seed):
        """Kill `kills` times at random steps, then run to the end.

        Returns:
            list of int: the steps logged when each kill came.
        """
        draws = random.Random(seed)
        killed_at = []
        for step in sorted(draws.sample(range(1, NUM_STEPS - 1), kills)):
            status, output, reached = self.send(
                workdir, signal.SIGKILL, step=step, delay=draws.random() / 20
            )
            if status != -signal.SIGKILL:
                raise RuntimeError(f"exit {status} before the kill: {output}")
            killed_at.append(reached)
        status, output = self.finish(workdir)
        if status:
            raise RuntimeError(f"exit {status}: {output}")
        return killed_at


def _identity(path):
    return path.stat().st_ino if path.exists() else None


def last_step(metrics):
    """Return the step of the last whole line of a `metrics.jsonl`, or 0."""
    if not metrics.exists():
        return 0
    lines = metrics.read_text(encoding="utf-8").split("\n")[:-1]
    return json.loads(lines[-1])["step"] if lines else 0


def last_checkpoint(workdir):
    """Return (step, `{key: array}`) of the newest checkpoint."""
    folder = max((pathlib.Path(workdir) / "checkpoints").glob("[0-9]*"))
    arrays = safetensors.numpy.load_file(folder / "state.safetensors")
    return int(folder.name), arrays


def lines(workdir):
    """Return the objects of `metrics.jsonl` without what measures time."""
    text = (pathlib.Path(workdir) / "metrics.jsonl").read_text()
    timed = ("seconds", "tokens_per_second")
    return [
        {k: v for k, v in json.loads(line).items() if k not in timed}
        for line in text.splitlines()
    ]


def differences(first, second):
    """Return in words what differs between two finished workdirs."""
    found = []
    (step, ours), (other_step, theirs) = map(last_checkpoint, (first, second))
    if step != other_step or ours.keys() != theirs.keys():
        found.append(f"checkpoints {step} and {other_step} hold other keys")
    else:
        found += [
            f"{key}: {np.sum(ours[key] != theirs[key])} of {ours[key].size}"
            for key in ours
            if ours[key].tobytes() != theirs[key].tobytes()
        ]
    if lines(first) != lines(second):
        found.append("metrics.jsonl")
    results = [
        json.loads((pathlib.Path(w) / "result.json").read_text())
        for w in (first, second)
    ]
    if results[0]["metrics"] != results[1]["metrics"]:
        found.append("result.json")
    return found


def compare(directory, *, backend, dtype, kills, seed=0):
    """Run both ways; return the killed steps and what differs."""
    experiment = Experiment(directory, backend=backend, DTYPE=dtype)
    undisturbed = pathlib.Path(directory) / "undisturbed"
    killed = pathlib.Path(directory) / "killed"
    status, output = experiment.finish(undisturbed)
    if status:
        raise RuntimeError(f"exit {status}: {output}")
    killed_at = experiment.kill_and_finish(killed, kills=kills, seed=seed)
    return killed_at, differences(undisturbed, killed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backend", default="tensorflow")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        killed_at, found = compare(directory, **vars(arguments))
    print(
        f"{arguments.backend} {arguments.dtype}: {len(killed_at)} kills after "
        f"steps {killed_at} of {NUM_STEPS}; "
        + ("equal bit for bit" if not found else f"DIFFERENT: {found}")
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
