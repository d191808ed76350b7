"""Requests to a SavedModel in a process that has only TensorFlow."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

_REPLAY = pathlib.Path(__file__).resolve().parent / "tf_replay.py"
_MOST_CHARACTERS = 1000


def answers(saved_model, requests):
    """Return what a SavedModel answers.

    Args:
        saved_model: path.
        requests: list of dicts from an input's name to (lists of) str.

    Returns:
        list of dicts from an output's name to nested lists.

    Raises:
        RuntimeError: the process failed; has the last line that it wrote,
            in ASCII.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = (
            pathlib.Path(folder) / name for name in ("asked", "answered")
        )
        asked.write_text(
            "".join(json.dumps(request) + "\n" for request in requests),
            encoding="utf-8",
        )
        done = subprocess.run(
            # -I: nothing of this directory or of PYTHONPATH is importable.
            [sys.executable, "-I", _REPLAY, saved_model, asked, answered],
            env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(
                f"{saved_model} does not answer in a process of its own: "
                f"{_last_line(done.stderr)}"
            )
        return [
            json.loads(line)
            for line in answered.read_text(encoding="utf-8").splitlines()
        ]


def _last_line(text):
    """Return the last line, harmless on a terminal whatever it quotes."""
    lines = [line for line in text.splitlines() if line.strip()]
    last = ascii(lines[-1].strip())[1:-1] if lines else "no message"
    return last[:_MOST_CHARACTERS]
