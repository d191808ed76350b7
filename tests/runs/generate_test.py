import functools
import io
import types

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras.models import builders
from gpt1_keras.models import generation
from gpt1_keras.runs import generate
from gpt1_keras.runs import presets
from gpt1_keras.text import tokenizer as tokenizer_lib
from tests.reference import small_models
from tests.reference import tiny_runs
from tests.reference.tiny_runs import generate as run


def test_every_sampler(preset, tiny, monkeypatch):
    monkeypatch.setattr(presets, "load", functools.cache(presets.load))
    run(preset, SAMPLER="greedy")  # Loading draws numbers, too.
    texts = [run(preset, NUM_TOKENS=20, SEED=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0].startswith("the old captain") and len(texts[0]) > 30
    texts = {
        name: run(preset, SAMPLER=name)
        for name in ("greedy", "random", "top_p", "beam", "contrastive")
    }
    for text in texts.values():
        assert text.startswith("the old captain ")
    for name, settings in (
        *(("beam", {"NUM_BEAMS": 1}), ("contrastive", {"NUM_BEAMS": 1})),
        *(("top_k", {"TOP_K": 1}), ("top_p", {"TOP_P": 1e-9})),
        ("random", {"TEMPERATURE": 1e-4}),
    ):
        assert run(preset, SAMPLER=name, **settings) == texts["greedy"]
    # Of a fine-tuned model, without the head.
    assert run(tiny.folder / "cola").startswith("the old captain ")
    # Several texts, and more tokens than positions.
    text = run(preset, NUM_TEXTS=2, NUM_TOKENS=50)
    assert text.count("the old captain ") == 2 and text.endswith("\n")


# Id of the line break -> a vocabulary with it there.
PIPELINE = small_models.byte_pairs()
NEWLINE_AT = {
    PIPELINE.newline_id: PIPELINE,
    0: tokenizer_lib.Tokenizer(
        ["\n</w>", *list(PIPELINE.vocabulary)[:-1]], PIPELINE.merges
    ),
}


def reciting_model(pipeline, path):
    """A language model that says the ids of `path`, at most 16 that differ.

    Position alone decides: its row is that of the token which follows.
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
def test_paragraphs(tmp_path, newline_id):
    """A text may stop at a line break; an empty prompt starts with one."""
    pipeline = NEWLINE_AT[newline_id]
    assert pipeline.newline_id == newline_id
    path = pipeline.encode("the cat\nb c")
    assert len(path) == 5 and path[2] == newline_id
    presets.save(reciting_model(pipeline, path), tmp_path / "preset")
    for sampler in ("greedy", "beam"):
        settings = {"SAMPLER": sampler, "NUM_TOKENS": 5, "PROMPT": "a"}
        assert run(tmp_path, **settings) == "a the cat\nb c\n"
        assert run(tmp_path, **settings, STOP_AT_NEWLINE=True) == "a the cat\n"
    text = run(tmp_path, SAMPLER="greedy", NUM_TOKENS=2, PROMPT="")
    assert text == "\nthe cat\n"


def test_a_quotation_mark_that_changes_sides_hides_nothing(monkeypatch, capsys):
    texts = ['left."', 'left." if', 'left. "if you', 'left. "if you go']
    texts += ['left." if you go .', 'left." if you go . on']
    tokenizer = types.SimpleNamespace(decode=lambda ids: texts[len(ids) - 1])
    monkeypatch.setattr(generation, "stream", lambda *_, **__: iter(range(5)))
    for name in ("pipeline", "tokenizer", "preprocessor"):
        tokenizer = types.SimpleNamespace(**{name: tokenizer})
    generate._print_streamed(tokenizer, "", [0], None, 3, ())
    assert capsys.readouterr().out == 'left. "if you go . on\n'


def test_through_main_and_mistakes(preset, tmp_path, capsys, monkeypatch):
    path = tmp_path / "prompt.txt"
    path.write_text("under a tall tree")
    settings = {"PRESET": str(preset), "PROMPT_FILE": str(path)}
    tiny_runs.succeed("gin/generate.gin", None, NUM_TOKENS=3, **settings)
    assert capsys.readouterr().out.startswith("under a tall tree ")
    for changes, expected in (
        ({"PROMPT_FILE": "nowhere.txt"}, "^PROMPT_FILE: nowhere.txt cannot"),
        ({"SAMPLER": "beam", "NUM_TOKENS": 50}, "NUM_TOKENS are 5.*lower"),
    ):
        with pytest.raises(errors.InputError, match=expected):
            run(preset, **changes)
    given = io.TextIOWrapper(io.BytesIO(b"caf\xe9\r\nnear\n\nno"), "utf-8")
    monkeypatch.setattr("sys.stdin", given)
    assert list(generate._ask()) == ["caf\ufffd", "near"]
