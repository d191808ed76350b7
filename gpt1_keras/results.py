"""`metrics.jsonl` and `result.json`: written and read in one place.

A run writes `result.json` last, so it is finished if this file exists. What is
read back is checked: a damaged file raises an InputError that names the place.
"""

import json
import numbers
import os
import pathlib
import subprocess
import time
import typing

import numpy as np
from absl import logging

from gpt1_keras import checks
from gpt1_keras import errors
from gpt1_keras import files

METRICS = "metrics.jsonl"
_ROOT = pathlib.Path(__file__).resolve().parent.parent


def path(workdir):
    return pathlib.Path(workdir) / "result.json"


def read(workdir):
    """Return the result of a finished run, None if there is none."""
    if not path(workdir).exists():
        return None
    found = _read_json(path(workdir))
    _check(found, _RESULT, path(workdir))
    _check(found.get("test") or {}, _RESULT, path(workdir))
    num_pieces = len(found.get("pieces") or ())
    if num_pieces != len(found.get("log_probabilities") or ()):
        raise _damaged(path(workdir), "a log-probability for each piece")
    return found


def check_inputs(path, digests):
    """Record {name of an input: digest} in a file; refuse a changed input."""
    record = _read_json(path) if path.exists() else {}
    for name, digest in digests.items():
        if record.setdefault(name, digest) != digest:
            shown = f"`{name}`"
            if name in ("train", "dev"):  # Rows of dev may come from train.
                shown = "`train` or `dev`"
            raise errors.InputError(
                f"the files behind {shown} have changed since {path.parent}"
                " was started: restore them, or give another --workdir"
            )
    files.write_changed(path, json.dumps(record, indent=2) + "\n")


def is_finished(workdir, config_sha256, advice="to run it again,", **facts):
    """Return whether a run with these facts is finished in a workdir; log it.

    `advice` begins the parenthesis of the log line.
    """
    found = read(workdir)
    expected = {"config_sha256": config_sha256} | facts
    if not found or found != found | expected:
        return False
    logging.info(
        f"{path(workdir)}: already finished; nothing to do ({advice} give"
        " another --workdir)"
    )
    return True


def write(workdir, *, run, task, split, metrics, seconds, **facts):
    """Write `result.json`, which marks a run as finished; return its path.

    `seconds` count all processes of the run. `facts` are `num_examples` (for a
    language model, tokens), `config_sha256`, the `paper`'s metrics, the `seed`
    and entries of this kind of run. The metrics come before other numbers.
    """
    import keras  # Reading results needs no backend.

    record = {"run": run, "task": task, "split": split, "metrics": metrics}
    record |= {"paper": {}, "seed": None} | facts
    record |= {"git_commit": _git_commit(), "backend": keras.config.backend()}
    record["seconds"] = round(seconds, 1)
    files.write_atomic(path(workdir), files.json_text(record, indent=1))
    logging.info("finished: %s", path(workdir))
    return path(workdir)


def _git_commit():
    """Return the commit of the repository, None outside of one."""
    # If installed, not that of a repository around it.
    command = ["git", f"--git-dir={_ROOT / '.git'}", "rev-parse", "HEAD"]
    quiet = {"stderr": subprocess.DEVNULL, "text": True}
    try:
        return subprocess.check_output(command, **quiet).strip()
    except (OSError, subprocess.CalledProcessError):
        return None


class History:
    """Log of a run: lines of `metrics.jsonl`, and the same for TensorBoard.

    Lines after `step`, where the run starts or resumes, are removed.
    """

    def __init__(self, workdir, *, step):
        # Loaded late: reading results does not need it.
        from tensorboard.summary.writer import record_writer

        workdir = pathlib.Path(workdir)
        self.path = workdir / METRICS
        kept = [x for x in read_metrics(self.path) if x["step"] <= step]
        files.write_atomic(self.path, "".join(map(files.json_text, kept)))
        self._before = max((line.get("seconds", 0) for line in kept), default=0)
        self._started = time.monotonic()
        self._file = open(self.path, "a", encoding="utf-8")
        # Not TensorBoard's own writer, whose thread hides a full disk.
        folder = workdir / "tensorboard"
        folder.mkdir(exist_ok=True)
        name = f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"
        self._events = record_writer.RecordWriter(open(folder / name, "wb"))
        self._write_event(file_version="brain.Event:2")
        # TensorBoard drops what it has read from this step on.
        self._write_event(step=step + 1, session_log={"status": "START"})

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
        with files.named(self.path):
            self._file.write(files.json_text({"step": step, **values}))
            self._file.flush()
        split = values.get("split", "train")
        scalars = [
            {"tag": f"{split}/{key}", "simple_value": value}
            for key, value in values.items()
            if not isinstance(value, str)
        ]
        with files.named(self.path.parent / "tensorboard"):
            self._write_event(step=step, summary={"value": scalars})
            self._events.flush()

    def _write_event(self, **fields):
        from tensorboard.compat.proto import event_pb2

        event = event_pb2.Event(wall_time=time.time(), **fields)
        self._events.write(event.SerializeToString())

    def close(self):
        self._file.close()
        self._events.close()


def shown(metrics):
    """Return metrics as a log line shows them."""
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.4f}"
        for name, value in metrics.items()
    )


def perplexity(loss):
    """Return `exp(loss)`, infinite rather than an error for a huge loss."""
    with np.errstate(over="ignore"):
        return float(np.exp(np.float64(loss)))


def read_metrics(path):
    """Return the lines of a `metrics.jsonl` as dicts, [] if there is none."""
    if not pathlib.Path(path).exists():
        return []
    lines = []
    text = files.read_text("metrics", path, _remedy(path))
    *texts, _ = text.split("\n")  # A killed run leaves a part of a line.
    for number, text in enumerate(texts, 1):
        place = f"{path}:{number}"
        lines.append(_parse(text, place))
        _check(lines[-1], _LINE, place)
        if not isinstance(lines[-1].get("step"), int):
            raise _damaged(place, "a step")
    return lines


def _read_json(path):
    text = files.read_text("result", path, _remedy(path))
    return _parse(text, f"{path}:1")


def _parse(text, place):
    try:  # An int64 holds 19 digits.
        return files.parse_json(
            text, parse_int=lambda x: int(x) if len(x) < 20 else float(x)
        )
    except ValueError as error:
        raise _damaged(place, f"a JSON object: {error}") from None


def _damaged(place, expected):
    problem = f"{place}: damaged, expected {expected}"
    return errors.InputError(f"{problem}; {_remedy(place)}")


def _remedy(place):
    if "/result.json" in str(place):
        return "remove this file and repeat the run's command"
    return "run it again with another --workdir"


def _check(found, kinds, place):
    """Refuse values of a wrong kind; None (unknown) is always allowed."""
    for name, value in found.items():
        kind = kinds.get(name, kinds[None])
        if value is not None and not checks.fits(value, kind):
            raise _damaged(place, f"a valid {name!r}")


# Name -> type, for values that other programs and the report rely on; None
# stands for all other names. A `Real` may be whole, infinite or NaN.
_TEXTS = "run task split backbone config_sha256 preset corpus attention"
_NUMBERS = """num_examples num_train_examples num_steps seconds parameters
    tokens_seen sequence_length unknown_share random lm_loss_weight num_layers
    num_transferred_layers"""
_METRICS = dict[str, numbers.Real | None]
_RESULT = {
    None: typing.Any,
    **dict.fromkeys(_TEXTS.split(), str),
    **dict.fromkeys(_NUMBERS.split(), numbers.Real),
    **dict.fromkeys(("metrics", "train_metrics", "majority"), _METRICS),
    "paper": dict[str, numbers.Real | _METRICS | None],
    "test": dict,
    **dict.fromkeys(("seeds", "classes"), dict[str, _METRICS]),
    "pieces": tuple[str, ...],
    "log_probabilities": tuple[numbers.Real, ...],
}
_LINE = {None: numbers.Real, "split": str, "sample": typing.Any}
