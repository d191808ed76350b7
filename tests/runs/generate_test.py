"""Generation through `gpt1_keras.main`."""

import contextlib
import io
import sys

import gin
import keras
import numpy as np
import pytest

from gpt1_keras import main
from gpt1_keras.models import builders
from gpt1_keras.models import generation
from gpt1_keras.runs import presets
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import small_models
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
    assert text.count("the old captain ") == 2 and text.endswith("\n")


def test_interactive(preset, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("our gate\nthe tree\n\n"))
    status, text, messages = run(preset, INTERACTIVE=True, NUM_TOKENS=3)
    assert status == 0
    first, second = text.strip().split("\n")
    assert first.startswith("our gate") and second.startswith("the tree")
    assert messages.count("prompt> ") == 3


def test_interactive_asks_again_where_a_prompt_is_too_long(preset, monkeypatch):
    lines = f"{'the ' * 40}\nour gate\n\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    status, text, messages = run(
        preset, INTERACTIVE=True, NUM_TOKENS=3, SAMPLER="beam"
    )
    assert status == 0
    (only,) = text.strip().split("\n")
    assert only.startswith("our gate ")
    assert messages.count("prompt> ") == 3
    assert messages.count("error: ") == 1 and "has 32 positions" in messages


# --- paragraphs --------------------------------------------------------------

# Id of the line break -> a vocabulary with it there.
PIPELINE = small_models.byte_pairs()
NEWLINE_AT = {
    PIPELINE.newline_id: PIPELINE,
    0: tokenizer_lib.Tokenizer(
        ["\n</w>", *list(PIPELINE.vocabulary)[:-1]],
        [("t", "h"), ("th", "e</w>"), ("c", "a"), ("ca", "t</w>")],
    ),
}


def reciting_model(pipeline, path):
    """A language model that says the tokens of `path`, one after the other.

    Position alone decides: its row is that of the token which follows, and
    the block, all zeros, adds nothing.

    Args:
        pipeline: Tokenizer.
        path: list of at most 16 ids that differ.
    """
    network = small_models.network(
        vocabulary_size=pipeline.vocabulary_size,
        hidden_dim=16,
        num_layers=1,
        max_sequence_length=16,
        num_special_tokens=0,
    )
    for weight in network.trainable_weights:
        weight.assign(weight * 0 + float(weight.name == "gamma"))
    tables = np.zeros((pipeline.vocabulary_size, 16))
    tables[path, range(len(path))] = 1
    embedding = network.token_and_position_embedding
    embedding.token_embeddings.assign(tables)
    embedding.position_embeddings.assign(10 * np.eye(16))
    return builders.gpt1_causal_lm(network, pipeline)


@pytest.mark.parametrize("newline_id", NEWLINE_AT)
@pytest.mark.parametrize("sampler", ["greedy", "beam", "contrastive"])
def test_stop_at_newline(tmp_path, newline_id, sampler):
    pipeline = NEWLINE_AT[newline_id]
    assert pipeline.newline_id == newline_id
    path = pipeline.encode("the cat\nb c")
    assert len(path) == 5 and path[2] == newline_id
    presets.save(reciting_model(pipeline, path), tmp_path / "preset")
    settings = {"SAMPLER": sampler, "NUM_TOKENS": 5, "PROMPT": "a"}
    _, text, _ = run(tmp_path / "preset", **settings)
    assert text == "a the cat\nb c\n"
    _, text, _ = run(tmp_path / "preset", **settings, STOP_AT_NEWLINE=True)
    assert text == "a the cat\n"


def test_empty_prompt_begins_a_paragraph(tmp_path):
    """With the line break, also where it is the vocabulary's first."""
    pipeline = NEWLINE_AT[0]
    path = pipeline.encode("the cat")
    presets.save(reciting_model(pipeline, path), tmp_path / "preset")
    _, text, _ = run(
        tmp_path / "preset", SAMPLER="greedy", NUM_TOKENS=2, PROMPT=""
    )
    assert text == "\nthe cat\n"


def test_words_are_shown_as_they_come(preset, monkeypatch):
    """When a token is asked for, all words before the last are there."""
    shown = []
    stream = generation.stream

    def watched(model, ids, *arguments, **settings):
        tokenizer = presets.load_tokenizer(preset)
        for token in stream(model, ids, *arguments, **settings):
            shown.append((tokenizer.decode(ids), sys.stdout.getvalue()))
            yield token

    monkeypatch.setattr(generation, "stream", watched)
    status, text, messages = run(preset, NUM_TOKENS=20)
    assert status == 0, messages
    assert len(shown) == 20
    for so_far, printed in shown[1:]:
        assert printed == so_far[: so_far.rfind(" ")]
    assert len({printed for _, printed in shown}) > 5
    assert text.startswith(shown[-1][1])


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"SAMPLER": "top_q"}, "SAMPLER is 'top_q': give one of"),
        ({"PRESET": "nowhere"}, "PRESET nowhere"),
        ({"PROMPT_FILE": "nowhere.txt"}, "PROMPT_FILE nowhere.txt"),
        ({"NUM_TOKENS": 0}, "NUM_TOKENS is 0"),
        ({"NUM_TEXTS": 0}, "NUM_TEXTS is 0"),
        ({"NUM_TEXTS": -1}, "NUM_TEXTS is -1"),
        ({"TEMPERATURE": 0.0}, "TEMPERATURE is 0.0"),
        ({"SAMPLER": "beam", "NUM_TOKENS": 40}, "has 32 positions"),
    ],
)
def test_mistakes_end_in_one_line(preset, settings, expected):
    status, text, messages = run(preset, **settings)
    assert (status, text) == (2, "")
    last = messages.strip().split("\n")[-1]
    assert last.startswith("error: ") and expected in last
