"""How far the tokenizer in the graph is the one in Python, on any text."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from absl import logging

from gpt1_keras import console
from gpt1_keras import errors
from gpt1_keras.data import books
from gpt1_keras.evaluation import metrics

# -----------------------------------------------------------------------------
# Requests to a SavedModel in a process that has only TensorFlow.

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


# -----------------------------------------------------------------------------
# How far the tokenizer in the graph is the one in Python, on any text.

_BATCH = 256  # paragraphs


def measure_identity(tokenizer, graph, path):
    """Compare both tokenizers on the paragraphs of text files.

    Args:
        tokenizer: `text.tokenizer.Tokenizer`.
        graph: `text.tf_tokenizer.GraphTokenizer` of it.
        path: a `.txt` file or a folder of them.

    Returns:
        dict of `paragraphs`, their number, and `identical_paragraphs` and
        `identical_paragraph_tokens`, shares.

    Raises:
        InputError: there is no text.
    """
    import tensorflow as tf

    encode = tf.function(
        lambda texts: graph(texts),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    paragraphs = _paragraphs(path)
    expected, found = [], []
    starts = range(0, len(paragraphs), _BATCH)
    with console.bar("tokenizer in the graph", len(starts)) as advance:
        for start in starts:
            batch = paragraphs[start : start + _BATCH]
            expected += tokenizer.encode_batch(batch)
            found += encode(tf.constant(batch)).to_list()
            advance(1)
    shares = metrics.agreement_of_ids(expected, found)
    return {
        "paragraphs": len(paragraphs),
        "identical_paragraphs": shares["identical_texts"],
        "identical_paragraph_tokens": shares["identical_tokens"],
    }


def _paragraphs(path):
    found = []
    for name, file in books.find_books([path]).items():
        try:
            found += books.read_book(file).splitlines()
        except books.BrokenBook as error:
            logging.warning("%s is left out: %s", name, error)
    found = [paragraph for paragraph in found if paragraph.strip()]
    if not found:
        raise errors.InputError(
            f"IDENTITY_TEXTS {path} has no paragraph of text: give .txt files"
        )
    return found
