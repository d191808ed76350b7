"""Checks of a SavedModel: its answers without Keras, and their agreement."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from gpt1_keras import checks
from gpt1_keras import console
from gpt1_keras import errors

_REPLAY = pathlib.Path(__file__).resolve().parent / "tf_replay.py"


def answers(saved_model, requests):
    """Return a SavedModel's answers from a process without Keras.

    Requests are {input: (lists of) str}, answers {output: nested lists}. If the
    process fails, raises a RunError with the last line of its stderr.
    """
    lines = []
    file = functools.partial(tempfile.TemporaryFile, "w+")
    # Files, not pipes: this process reads only one pipe at a time.
    with file() as given, file() as said:
        given.writelines(json.dumps(request) + "\n" for request in requests)
        given.seek(0)
        process = subprocess.Popen(
            # -I: nothing from this directory or PYTHONPATH can be imported.
            [sys.executable, "-I", _REPLAY, saved_model],
            env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        with process, console.bar("answers", len(requests)) as advance:
            for line in process.stdout:
                lines.append(line)
                advance(1)
        said.seek(0)
        last = said.read().strip().split("\n")[-1]
    if process.returncode:
        raise errors.RunError(
            f"{saved_model} fails in a process without Keras: {last}"
        )
    return list(map(json.loads, lines))


@checks.value_object
class Agreement:
    """How closely a served model must agree with the Keras model.

    If the token ids of a row are equal, its prediction must be equal, too.
    """

    # Largest difference of a probability, a log-probability per token, or a
    # score relative to its range, on rows with equal token ids.
    tolerance: checks.Share
    min_identical_tokens: checks.Share  # lowest share of equal token ids

    def check(self, compared):
        """Refuse a model by what `tf_served.ServedTask.compare` found."""
        identical = compared["identical_tokens"]
        difference = compared["largest_difference"]
        upgrade = "export with the versions of requirements.txt"
        unequal = [
            f"{name} is {share:.6g}"
            for name, share in compared.items()
            if name.startswith("same_") and share != 1.0
        ]
        if not identical >= self.min_identical_tokens:
            reason = (
                f"{identical:.4%} of its tokens equal those of the Python"
                f" tokenizer, less than {self.min_identical_tokens:.4%}; check"
                " the encoding of the rows (ftfy cannot run in the graph), or"
                " lower `min_identical_tokens`"
            )
        elif not compared["compared_rows"]:
            reason = (
                "no row has the token ids of the Python tokenizer, so nothing"
                " can be compared; give rows like those it was trained on"
            )
        elif not difference <= self.tolerance:
            reason = (
                f"its answers differ by {difference:.2g} where the token ids"
                f" are equal, more than {self.tolerance:.2g}; {upgrade}, or"
                " raise `tolerance`"
            )
        elif unequal:
            reason = (
                f"{unequal[0]} where the token ids are equal, not 1; {upgrade}"
            )
        else:
            return
        raise errors.RunError(f"the served model is not published: {reason}")
