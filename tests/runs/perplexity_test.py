import math

import numpy as np
import pytest

from gpt1_keras import results
from gpt1_keras.models import causal_lm
from tests.reference import data_files
from tests.reference import small_models
from tests.reference import tiny_runs
from tests.reference.tiny_runs import perplexity as run

POSITIONS = 32
TEXTS = {
    "long.txt": "the old captain walked under a tall tree near our gate "
    "garden harbour " * 9,
    "short.txt": "a tall captain\nwalked\n\n",
    "below/word.txt": "garden",
}


def log_probabilities(model, ids):
    """Of every token but the first.

    Each window of a long text begins half a window after the one before.
    """
    found = []
    for end in (*range(POSITIONS, len(ids), POSITIONS // 2), len(ids)):
        start = max(0, end - POSITIONS)
        window = small_models.log_probabilities(model, ids[start:end])
        found += [*window[len(found) - start :]]
    return found


def expected_of(preset, texts):
    """(log-probabilities, words, bytes): of the logits."""
    model = causal_lm.GPT1CausalLM.from_preset(str(preset), compile=False)
    encode = model.preprocessor.tokenizer.pipeline.encode
    found, words, size, tokens = [], 0, 0, 0
    for text in texts.values():
        clean = "\n".join(line for line in text.split("\n") if line.strip())
        ids = encode(clean.strip())
        found += log_probabilities(model, ids)
        words += len(text.split())
        size += len(text.encode())
        tokens += len(ids)
    # The first token of each file is not scored, nor is its share.
    share = len(found) / tokens
    return np.array(found), words * share, size * share


@pytest.mark.usefixtures("cache")
def test_equals_a_forward_pass_for_each_token(tiny, preset, tmp_path):
    texts = tmp_path / "texts"
    for name, text in TEXTS.items():
        data_files.write(texts, name, text)
    expected, words, size = expected_of(preset, TEXTS)
    of_word = math.exp(-expected.sum() / words)
    bits = -expected.sum() / math.log(2) / size
    wanted = {
        "loss": pytest.approx(-expected.mean(), abs=1e-5),
        "perplexity": pytest.approx(math.exp(-expected.mean()), rel=1e-5),
        "word_perplexity": pytest.approx(of_word, rel=1e-4),
        "bits_per_byte": pytest.approx(bits, rel=1e-4),
        **{"tokens": len(expected), "words": round(words)},
    }
    settings = {"perplexity.Scoring.batch_size": 5}
    assert run(preset, texts, tmp_path / "run", **settings) == wanted
    found = results.read(tmp_path / "run")
    assert found["metrics"] == wanted
    assert (found["run"], found["split"]) == ("perplexity", "all")
    assert found["num_examples"] == len(expected)
    assert (found["unknown_share"], found["sequence_length"]) == (0, POSITIONS)
    path = tmp_path / "run" / "result.json"
    written = path.stat().st_mtime_ns
    assert run(preset, texts, path.parent, **settings) == wanted
    assert path.stat().st_mtime_ns == written  # It was finished.
    path.write_text(path.read_text().replace("metrics", "edited"))
    assert run(preset, texts, path.parent, **settings) is None
    # A single file, through main.
    short, *_ = expected_of(preset, {"x": TEXTS["short.txt"]})
    given = {"PRESET": str(preset), "CORPUS": str(texts / "short.txt")}
    metrics = tiny_runs.succeed(
        "gin/perplexity.gin", tmp_path / "main", **given
    )["metrics"]
    assert metrics["loss"] == pytest.approx(-short.mean(), abs=1e-5)
    assert metrics["tokens"] == len(short)
    # A fine-tuned model has special tokens, which its logits leave out.
    tuned = tiny.folder / "cola" / "preset"
    short, *_ = expected_of(tuned, {"x": TEXTS["short.txt"]})
    metrics = run(tuned, texts / "short.txt")
    assert metrics["loss"] == pytest.approx(-short.mean(), abs=1e-5)
    # Less text, and less context.
    part = run(preset, texts, NUM_TOKENS=20)
    assert part["tokens"] < 25 < wanted["tokens"]
    found = run(preset, texts, SEQUENCE_LENGTH=2)
    assert found["tokens"] == wanted["tokens"]
    assert found["loss"] != pytest.approx(-expected.mean(), abs=1e-3)
    # Another text in the same place is measured anew.
    (texts / "below/word.txt").write_text("garden gate")
    changed = run(preset, texts, path.parent, **settings)
    assert changed["tokens"] > wanted["tokens"]
