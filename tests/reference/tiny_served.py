"""Servers of random weights and rows to ask them about."""

import functools
import pathlib
import tempfile

import tensorflow as tf

from gpt1_keras.data import examples
from gpt1_keras.models import causal_lm
from gpt1_keras.serving import tf_saved_model
from gpt1_keras.tasks import benchmarks
from gpt1_keras.text import tf_tokenizer
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

TEXTS = [
    "The old captain walked under a tall tree.",
    "our gate",
    "",
    "the garden " * 30,
    "Near, near - nearer!\nWalked",
]
# What no person writes.
HOSTILE = [
    *(b"", b"\xff\xfe\x00", b"\x00" * 9, b"a" * 1_000_000, b" " * 100_000),
    *("\u202e\U0001f600\u0301".encode(), b"&#0;&#xffffffff;<"),
]
# Two texts, a score and choices.
TASKS = ("rte", "stsb", "race")


def rows(name):
    """Examples of what a task takes, one of them too long."""
    end = 6 if name == "race" else 2
    rotated = [TEXTS[i:] + TEXTS[:i] for i in range(len(TEXTS))]
    return [
        examples.Example(texts[0], texts[1], (*texts, texts[0])[2:end])
        for texts in rotated
    ]


def inputs(server, rows):
    """The rows as inputs of the default signature."""
    return {
        name: tf.constant([getattr(row, name) for row in rows])
        for name in server.texts
    }


@functools.cache
def model(name):
    """A `GPT1TaskModel` of random weights."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tiny_task.write_preset(folder / "pretrained")
        return tiny_fine_tuned.write(
            folder / name, benchmarks.benchmark(name), folder / "pretrained"
        )


@functools.cache
def server(name):
    """The `TaskServer` of `model(name)`."""
    return tf_saved_model.TaskServer(model(name), graph_tokenizer())


@functools.cache
def signature(name, which="serving_default"):
    """A signature of `server(name)`, traced once."""
    return server(name).signatures()[which]


@functools.cache
def graph_tokenizer():
    """The graph of the tokenizer that all models have."""
    tokenizer = language_model().preprocessor.tokenizer.pipeline
    return tf_tokenizer.GraphTokenizer(tokenizer)


@functools.cache
def language_model():
    """The pretrained `GPT1CausalLM`."""
    with tempfile.TemporaryDirectory() as folder:
        return causal_lm.GPT1CausalLM.from_preset(
            str(tiny_task.write_preset(pathlib.Path(folder) / "preset"))
        )


@functools.cache
def language_model_server():
    """A `LanguageModelServer` of the pretrained network."""
    return tf_saved_model.LanguageModelServer(
        language_model(), graph_tokenizer()
    )
