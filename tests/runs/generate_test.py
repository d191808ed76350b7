"""Generation through `gpt1_keras.main`."""

import contextlib
import io
import sys

import gin
import keras
import pytest

from gpt1_keras import main
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return tiny_task.write_preset(tmp_path_factory.mktemp("generate") / "p")


def run(preset, **settings):
    """Return exit status, what was written, and messages."""
    arguments = ["--gin", "gin/generate.gin"]
    settings = {"PRESET": str(preset), "PROMPT": "the old captain"} | settings
    for name, value in settings.items():
        arguments += ["--set", f"{name} = {value!r}"]
    policy = keras.config.dtype_policy()
    stdout, stderr = io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            status = main.main(arguments)
    finally:
        gin.clear_config()
        keras.config.set_dtype_policy(policy)
    return status, stdout.getvalue(), stderr.getvalue()


def test_same_seed_same_text(preset):
    texts = [run(preset, NUM_TOKENS=20, SEED=seed)[1] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0].startswith("the old captain") and len(texts[0]) > 30


@pytest.mark.parametrize(
    "sampler", ["greedy", "random", "top_k", "top_p", "beam", "contrastive"]
)
def test_every_sampler(preset, sampler):
    status, text, messages = run(preset, SAMPLER=sampler, NUM_TOKENS=6)
    assert status == 0, messages
    assert text.startswith("the old captain ")


def test_one_beam_is_greedy(preset):
    _, greedy, _ = run(preset, SAMPLER="greedy", NUM_TOKENS=8)
    _, beam, _ = run(preset, SAMPLER="beam", NUM_BEAMS=1, NUM_TOKENS=8)
    assert beam == greedy


def test_prompt_from_a_file(preset, tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_text("under a tall tree")
    status, text, _ = run(preset, PROMPT_FILE=str(path), NUM_TOKENS=3)
    assert status == 0 and text.startswith("under a tall tree")


def test_several_texts_and_more_tokens_than_positions(preset):
    status, text, _ = run(preset, NUM_TEXTS=2, NUM_TOKENS=50)
    assert status == 0
    assert len(text.strip().split("\n")) == 2


def test_interactive(preset, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("our gate\nthe tree\n\n"))
    status, text, messages = run(preset, INTERACTIVE=True, NUM_TOKENS=3)
    assert status == 0
    first, second = text.strip().split("\n")
    assert first.startswith("our gate") and second.startswith("the tree")
    assert messages.count("prompt> ") == 3


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"SAMPLER": "top_q"}, "SAMPLER is 'top_q': give one of"),
        ({"PRESET": "nowhere"}, "PRESET nowhere"),
        ({"PROMPT_FILE": "nowhere.txt"}, "PROMPT_FILE nowhere.txt"),
        ({"NUM_TOKENS": 0}, "NUM_TOKENS is 0"),
        ({"TEMPERATURE": 0.0}, "TEMPERATURE is 0.0"),
        ({"SAMPLER": "beam", "NUM_TOKENS": 40}, "has 32 positions"),
    ],
)
def test_mistakes_end_in_one_line(preset, settings, expected):
    status, text, messages = run(preset, **settings)
    assert (status, text) == (2, "")
    last = messages.strip().split("\n")[-1]
    assert last.startswith("error: ") and expected in last
