import math

import numpy as np
import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.data import prepare
from gpt1_keras.models import builders
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from gpt1_keras.text import train_vocabulary
from tests.reference import kill_run
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference.tiny_runs import perplexity as run

POSITIONS = 32
TEXTS = {
    "long.txt": "the old captain walked under a tall tree near our gate "
    "garden harbour " * 9,
    "short.txt": "a tall captain\nwalked\n\n",
    "below/word.txt": "garden",
}


@pytest.fixture(scope="module")
def preset(tiny):
    return tiny.folder / "pretrained"


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


def test_equals_a_forward_pass_for_each_token(preset, texts, tmp_path):
    expected, words = expected_of(preset, TEXTS)
    assert len(expected) > 3 * POSITIONS
    wanted = {
        "loss": pytest.approx(-expected.mean(), abs=1e-5),
        "perplexity": pytest.approx(math.exp(-expected.mean()), rel=1e-5),
        "word_perplexity": pytest.approx(
            math.exp(-expected.sum() / words), rel=1e-4
        ),
        "tokens": len(expected),
        "words": round(words),
    }
    assert run(preset, texts, tmp_path / "run", batch_size=5) == wanted
    found = results.read(tmp_path / "run")
    assert found["metrics"] == wanted
    assert (found["run"], found["split"]) == ("perplexity", "all")
    assert found["num_examples"] == len(expected)
    assert found["unknown_share"] == 0.0
    assert found["sequence_length"] == POSITIONS
    # A single file, through main.
    short, _ = expected_of(preset, {"x": TEXTS["short.txt"]})
    status, messages = tiny_fine_tuned.call_main(
        *("gin/perplexity.gin", tmp_path / "main"),
        PRESET=str(preset),
        CORPUS=str(texts / "short.txt"),
    )
    assert status == 0, messages
    metrics = results.read(tmp_path / "main")["metrics"]
    assert metrics["loss"] == pytest.approx(-short.mean(), abs=1e-5)
    assert metrics["tokens"] == len(short)
    # Less text, and less context.
    part = run(preset, texts, num_tokens=20)
    assert part["tokens"] < 25 < wanted["tokens"]
    found = run(preset, texts, sequence_length=2)
    assert found["tokens"] == wanted["tokens"]
    assert found["loss"] != pytest.approx(-expected.mean(), abs=1e-3)


def test_special_rows_are_no_words_and_unknown_text_is_reported(
    texts, tmp_path, caplog
):
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
    metrics = run(preset, write(tmp_path / "new", text), tmp_path / "run")
    expected, _ = expected_of(preset, text)
    assert metrics["loss"] == pytest.approx(-expected.mean(), abs=1e-5)
    ids = tokenizer.encode(text["new.txt"])
    unknown = results.read(tmp_path / "run")["unknown_share"]
    assert unknown == ids.count(0) / len(ids) > 0.1
    assert "unknown to the vocabulary" in caplog.text


def test_splits_of_a_prepared_corpus(preset, texts, tmp_path):
    books = kill_run.write_books(tmp_path / "books")
    recipe = prepare.Recipe(
        presets.load_tokenizer(preset), held_out_fraction=0.34
    )
    prepare.prepare([books], tmp_path / "prepared", recipe)
    tokens = {
        split: run(preset, tmp_path / "prepared", split=split)["tokens"]
        for split in ("all", "train", "held_out")
    }
    assert tokens["all"] == tokens["train"] + tokens["held_out"]
    assert 0 < tokens["held_out"] < tokens["train"]


@pytest.mark.parametrize(
    "corpus, changes, expected",
    [
        (None, {}, "`corpus` is not given"),
        ("nowhere", {}, "nowhere does not exist"),
        ("texts/empty.txt", {}, "empty.txt: empty"),
        ("texts/binary.txt", {}, "binary.txt: binary"),
        ("texts/below", {}, "`corpus`: texts/below has no file of two tok"),
        (".", {"split": "held_out"}, "has no held_out files"),
        ("texts/short.txt", {"sequence_length": 33}, "33 is more than the mo"),
    ],
)
def test_mistakes(
    preset, texts, tmp_path, monkeypatch, corpus, changes, expected
):
    write(texts, {"empty.txt": " \n\n", "binary.txt": "a\0b"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.InputError, match=expected):
        run(preset, corpus, tmp_path / "run", **changes)
    assert not list((tmp_path / "run").iterdir())
