"""`result.json`: what a run found, written last."""

import json
import pathlib
import subprocess
import time

import keras
import numpy as np
from absl import logging
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto import summary_pb2
from tensorboard.summary.writer import event_file_writer

from gpt1_keras import errors
from gpt1_keras import files

# -----------------------------------------------------------------------------
# JSON that runs wrote; what is damaged is named with its line.


def read_json(path):
    """Return the object in a JSON file.

    Args:
        path: pathlib.Path.

    Raises:
        InputError: it is not a JSON object.
    """
    return _parse(path.read_text(encoding="utf-8", errors="replace"), path, 1)


def read_json_lines(path):
    """Return the objects of a `metrics.jsonl`; a torn last line is left out.

    Args:
        path: pathlib.Path, which need not exist.

    Raises:
        InputError: a line is not a JSON object; names it.
    """
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return [_parse(line, path, number) for number, line in enumerate(lines, 1)]


def check_objects(path, found, names):
    """Refuse an object in which something else stands for an object.

    Args:
        path: pathlib.Path of the file, for the message.
        found: dict, what `read` returned.
        names: iterable of str, keys whose values are objects where they are.

    Raises:
        InputError: one is not; names it.
    """
    for name in names:
        if not isinstance(found.get(name, {}), dict):
            raise _damaged(path, f"{name!r} is not an object")


def _parse(text, path, first_line):
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        line, why = first_line + error.lineno - 1, error.msg
    else:
        if isinstance(found, dict):
            return found
        line, why = first_line, "not an object"
    raise _damaged(f"{path}:{line}", why)


def _damaged(place, why):
    return errors.InputError(
        f"{place}: is damaged ({why}): run it again, or take its folder out of"
        " RESULTS"
    )


# -----------------------------------------------------------------------------
# `metrics.jsonl` and TensorBoard: what a run measured, step by step.


class History:
    """Appends one JSON object per line, and the same to TensorBoard.

    Args:
        workdir: path. Lines go to `metrics.jsonl`, events to `tensorboard/`.
        step: int. Where the run begins: lines of later steps, written by a
            run that was killed, are removed.
    """

    def __init__(self, workdir, *, step):
        self.path = pathlib.Path(workdir) / "metrics.jsonl"
        kept = [
            line for line in read_metrics(self.path) if line["step"] <= step
        ]
        files.write_atomic(
            self.path, "".join(json.dumps(line) + "\n" for line in kept)
        )
        self._before = max((line.get("seconds", 0) for line in kept), default=0)
        self._started = time.monotonic()
        self._file = open(self.path, "a", encoding="utf-8")
        self._events = event_file_writer.EventFileWriter(
            str(pathlib.Path(workdir) / "tensorboard")
        )

    @property
    def seconds(self):
        """Wall time of the run so far, earlier processes included."""
        return self._before + time.monotonic() - self._started

    def write(self, step, **values):
        """Record numbers and texts of one step, and the time."""
        values["seconds"] = round(self.seconds, 1)
        values = {
            key: value if isinstance(value, (str, int)) else float(value)
            for key, value in values.items()
        }
        self._file.write(json.dumps({"step": step, **values}) + "\n")
        self._file.flush()
        split = values.get("split", "train")
        self._events.add_event(
            event_pb2.Event(
                wall_time=time.time(),
                step=step,
                summary=summary_pb2.Summary(
                    value=[
                        summary_pb2.Summary.Value(
                            tag=f"{split}/{key}", simple_value=value
                        )
                        for key, value in values.items()
                        if not isinstance(value, str)
                    ]
                ),
            )
        )

    def close(self):
        """Bring everything to the disk."""
        self._file.close()
        self._events.close()


def read_metrics(path):
    """Return the objects of a `metrics.jsonl`; a torn last line is left out.

    Args:
        path: path, which need not exist.
    """
    lines = []
    if not pathlib.Path(path).exists():
        return lines
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                break
            lines.append(json.loads(line))
    return lines


def perplexity(loss):
    """`exp(loss)`, infinite rather than an error for a huge loss."""
    with np.errstate(over="ignore"):
        return float(np.exp(np.float64(loss)))


# -----------------------------------------------------------------------------
# `result.json`: what a run found, written last.

_ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def path(workdir):
    """Return where the result of a workdir lies."""
    return pathlib.Path(workdir) / "result.json"


def read(workdir):
    """Return the result of a finished run, or None."""
    if not path(workdir).exists():
        return None
    return read_json(path(workdir))


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
