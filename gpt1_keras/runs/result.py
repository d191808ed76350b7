"""`result.json`: what a run found, written last."""

import json
import pathlib
import subprocess

import keras
from absl import logging

from gpt1_keras import files
from gpt1_keras.evaluation import json_files

_ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def path(workdir):
    """Return where the result of a workdir lies."""
    return pathlib.Path(workdir) / "result.json"


def read(workdir):
    """Return the result of a finished run, or None."""
    if not path(workdir).exists():
        return None
    return json_files.read(path(workdir))


def is_finished(workdir, config_sha256, advice="for another try"):
    """Return whether this very configuration is finished, and say so.

    Args:
        workdir: path.
        config_sha256: str.
        advice: str, what else than another workdir can be given.
    """
    found = read(workdir)
    if not found or found["config_sha256"] != config_sha256:
        return False
    logging.info(
        "%s: finished before, nothing is done again; %s give another --workdir",
        path(workdir),
        advice,
    )
    return True


def write(
    workdir,
    *,
    run,
    task,
    split,
    metrics,
    paper,
    num_examples,
    seed,
    config_sha256,
    seconds,
    **more,
):
    """Write `result.json`; its existence says that the run is finished.

    Args:
        workdir: path.
        run: str. The verb, such as `pretrain`.
        task: str. What was learnt or measured.
        split: str. On which part of the data.
        metrics: dict of numbers.
        paper: dict of the paper's numbers for the same, may be empty.
        num_examples: int. Examples (tokens for a language model) scored.
        seed: int.
        config_sha256: str.
        seconds: float. Wall time of the run, over all its processes.
        **more: other facts of this kind of run.

    Returns:
        its path.
    """
    record = {
        "run": run,
        "task": task,
        "split": split,
        "metrics": metrics,
        "paper": paper,
        "num_examples": num_examples,
        "seed": seed,
        "config_sha256": config_sha256,
        "git_commit": _git_commit(),
        "backend": keras.config.backend(),
        "seconds": round(seconds, 1),
        **more,
    }
    files.write_atomic(path(workdir), json.dumps(record, indent=1) + "\n")
    logging.info("finished: %s", path(workdir))
    return path(workdir)


def _git_commit():
    """Return the commit of the repository, None where there is none."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
