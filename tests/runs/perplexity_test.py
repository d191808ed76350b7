"""The perplexity of text through `gpt1_keras.main`."""

import contextlib
import io
import math

import gin
import keras
import numpy as np
import pytest

from gpt1_keras import main
from gpt1_keras import results
from gpt1_keras.data import prepare
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.text import train_vocabulary
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_task

POSITIONS = 32
TEXTS = {
    "long.txt": "the old captain walked under a tall tree near our gate "
    "garden harbour " * 9,
    "short.txt": "a tall captain\nwalked\n\n",
    "below/word.txt": "garden",
}


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return tiny_task.write_preset(tmp_path_factory.mktemp("model") / "preset")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.setenv("GPT1_KERAS_CACHE", str(tmp_path / "cache"))
    return write(tmp_path / "texts", TEXTS)


def write(folder, texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def run(workdir=None, **settings):
    """Return exit status and messages."""
    arguments = ["--gin", "gin/perplexity.gin"]
    for name, value in settings.items():
        value = value if isinstance(value, int | None) else str(value)
        arguments += ["--set", f"{name} = {value!r}"]
    if workdir is not None:
        arguments += ["--workdir", str(workdir)]
    messages = io.StringIO()
    try:
        with contextlib.redirect_stderr(messages):
            status = main.main(arguments)
    finally:
        gin.clear_config()
    return status, messages.getvalue()


def measure(workdir, **settings):
    status, messages = run(workdir, **settings)
    assert status == 0, messages
    return results.read(workdir)


def log_probabilities(model, ids):
    """Of every token but the first, one forward pass for each, float64.

    Of a long text a token sees the window that ends at the next multiple of
    the stride, or with the text.
    """
    found = []
    stride = POSITIONS // 2
    for t in range(1, len(ids)):
        end = POSITIONS
        while end <= t:
            end += stride
        end = min(end, len(ids))
        # What follows the context is not seen.
        context = np.array([[*ids[max(0, end - POSITIONS) : t], 0]], "int32")
        logits = small_models.read(model(small_models.inputs(context)))
        scores = logits[0, -2]
        found.append(scores[ids[t]] - np.log(np.exp(scores).sum()))
    return found


def expected_of(preset, texts):
    """(log-probabilities, words): of the logits, a token at a time."""
    model = causal_lm.GPT1CausalLM.from_preset(str(preset), compile=False)
    encode = model.preprocessor.tokenizer.pipeline.encode
    found, words, tokens = [], 0, 0
    for text in texts.values():
        clean = "\n".join(line for line in text.split("\n") if line.strip())
        ids = encode(clean.strip())
        found += log_probabilities(model, ids)
        words += len(text.split())
        tokens += len(ids)
    # The first token of each file is not scored, nor is its share of words.
    return np.array(found), words * len(found) / tokens


@pytest.mark.parametrize("batch_size", [1, 5])
def test_equals_a_forward_pass_for_each_token(
    preset, texts, tmp_path, batch_size
):
    found = measure(
        tmp_path / "run",
        PRESET=preset,
        CORPUS=texts,
        EVALUATION_STRIDE=POSITIONS // 2,
        **{"perplexity.Scoring.batch_size": batch_size},
    )
    expected, words = expected_of(preset, TEXTS)
    assert len(expected) > 3 * POSITIONS
    assert found["metrics"] == {
        "loss": pytest.approx(-expected.mean(), abs=1e-5),
        "perplexity": pytest.approx(math.exp(-expected.mean()), rel=1e-5),
        "word_perplexity": pytest.approx(
            math.exp(-expected.sum() / words), rel=1e-4
        ),
        "tokens": len(expected),
        "words": round(words),
    }
    assert found["run"] == "perplexity" and found["split"] == "all"
    assert found["num_examples"] == len(expected)
    assert found["unknown_share"] == 0.0


def test_one_file_and_no_workdir(preset, texts, caplog):
    status, messages = run(
        PRESET=preset, CORPUS=texts / "short.txt", EVALUATION_STRIDE=16
    )
    assert status == 0, messages
    messages = caplog.text
    expected, words = expected_of(preset, {"x": TEXTS["short.txt"]})
    per_token = math.exp(-expected.mean())
    per_word = math.exp(-expected.sum() / words)
    assert f"perplexity {per_token:.2f} per token" in messages
    assert f"{per_word:.2f} per word" in messages


def test_less_text_and_less_context(preset, texts, tmp_path):
    settings = {"PRESET": preset, "CORPUS": texts}
    whole = measure(tmp_path / "whole", **settings)["metrics"]
    part = measure(tmp_path / "part", NUM_TOKENS=20, **settings)["metrics"]
    assert part["tokens"] < 25 < whole["tokens"]
    found = measure(tmp_path / "two", SEQUENCE_LENGTH=2, **settings)
    assert found["sequence_length"] == 2
    assert found["metrics"]["tokens"] == whole["tokens"]
    assert found["metrics"]["loss"] != pytest.approx(whole["loss"], abs=1e-3)


def test_special_rows_are_no_words_and_unknown_text_is_told(texts, tmp_path):
    tokenizer = train_vocabulary.train_bpe(TEXTS.values(), vocabulary_size=80)
    network = small_models.network(
        vocabulary_size=tokenizer.vocabulary_size,
        max_sequence_length=POSITIONS,
    )
    embedding = network.token_and_position_embedding
    embedding.special_embeddings.assign(embedding.special_embeddings * 5)
    preset = tmp_path / "preset"
    builders.gpt1_causal_lm(network, tokenizer).save_to_preset(str(preset))
    text = {"new.txt": "the old \u03b6 captain walked under a \u03b6 tree."}
    folder = write(tmp_path / "new", text)
    found = measure(
        tmp_path / "run", PRESET=preset, CORPUS=folder, EVALUATION_STRIDE=16
    )
    expected, _ = expected_of(preset, text)
    assert found["metrics"]["loss"] == pytest.approx(-expected.mean(), abs=1e-5)
    ids = tokenizer.encode(text["new.txt"])
    assert found["unknown_share"] == ids.count(0) / len(ids) > 0.1


def test_splits_of_a_prepared_corpus(preset, texts, tmp_path):
    pipeline = causal_lm.GPT1CausalLM.from_preset(
        str(preset), compile=False
    ).preprocessor.tokenizer.pipeline
    books = kill_run.write_books(tmp_path / "books")
    prepare.prepare(
        [books],
        tmp_path / "prepared",
        prepare.Recipe(pipeline, held_out_fraction=0.34),
    )
    settings = {"PRESET": preset, "CORPUS": tmp_path / "prepared"}
    tokens = {
        split: measure(tmp_path / split, SPLIT=split, **settings)["metrics"][
            "tokens"
        ]
        for split in ("all", "train", "held_out")
    }
    assert tokens["all"] == tokens["train"] + tokens["held_out"]
    assert 0 < tokens["held_out"] < tokens["train"]


@pytest.mark.slow
def test_equals_the_figure_of_pretraining(tmp_path):
    pretraining = kill_run.Experiment(
        tmp_path,
        backend=keras.config.backend(),
        NUM_STEPS=4,
        **{"fitting.Intervals.sample_steps": 0},
    )
    status, output = pretraining.finish(tmp_path / "pretrained")
    assert status == 0, output
    (corpus,) = (tmp_path / "cache").glob("corpus_*")
    found = measure(
        tmp_path / "run",
        PRESET=tmp_path / "pretrained",
        CORPUS=corpus,
        SPLIT="held_out",
        SEQUENCE_LENGTH=kill_run.SETTINGS["SEQUENCE_LENGTH"],
        **{
            "held_out.Evaluation.stride": kill_run.SETTINGS[
                "held_out.Evaluation.stride"
            ]
        },
    )
    expected = results.read(tmp_path / "pretrained")["metrics"]
    assert found["metrics"] == pytest.approx(expected, rel=1e-6)


MISTAKES = {
    "no text": ({"CORPUS": None}, "no CORPUS is given"),
    "nowhere": ({"CORPUS": "nowhere"}, "CORPUS nowhere does not exist"),
    "empty file": ({"CORPUS": "empty.txt"}, "empty.txt: empty"),
    "binary": ({"CORPUS": "binary.txt"}, "binary.txt: binary"),
    "one token": ({"CORPUS": "texts/below"}, "no two tokens in a file"),
    "no file": ({"CORPUS": "folder"}, "CORPUS"),
    "preset": ({"PRESET": "nowhere"}, "PRESET nowhere does not exist"),
    "split": ({"SPLIT": "test"}, "SPLIT is 'test': give one of all, train"),
    "no split": ({"SPLIT": "held_out"}, "has no held_out files"),
    "window": ({"SEQUENCE_LENGTH": 33}, "SEQUENCE_LENGTH is 33: give 2 to 32"),
    "stride": ({"EVALUATION_STRIDE": 0}, "EVALUATION_STRIDE is 0: give a"),
    "batch": (
        {"perplexity.Scoring.batch_size": 0},
        "EVALUATION_BATCH_SIZE is 0",
    ),
    "tokens": ({"NUM_TOKENS": 0}, "NUM_TOKENS is 0"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_end_in_one_line(preset, texts, tmp_path, monkeypatch, name):
    settings, expected = MISTAKES[name]
    (tmp_path / "empty.txt").write_text(" \n\n")
    (tmp_path / "binary.txt").write_bytes(b"a\0b")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    status, messages = run(
        tmp_path / "run", **{"PRESET": preset, "CORPUS": texts} | settings
    )
    assert status == 2, messages
    last = messages.strip().split("\n")[-1]
    assert last.startswith("error: ") and expected in last
    assert not list((tmp_path / "run").iterdir())
