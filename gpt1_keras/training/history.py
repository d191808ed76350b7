"""`metrics.jsonl` and TensorBoard: what a run measured, step by step."""

import json
import pathlib
import time

import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto import summary_pb2
from tensorboard.summary.writer import event_file_writer

from gpt1_keras import files


class History:
    """Appends one JSON object per line, and the same to TensorBoard.

    Args:
        workdir: path. Lines go to `metrics.jsonl`, events to `tensorboard/`.
        step: int. Where the run begins: lines of later steps, written by a
            run that was killed, are removed.
    """

    def __init__(self, workdir, *, step):
        self.path = pathlib.Path(workdir) / "metrics.jsonl"
        kept = [line for line in read(self.path) if line["step"] <= step]
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


def read(path):
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
