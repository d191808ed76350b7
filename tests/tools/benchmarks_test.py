"""The sections of `tools/benchmark.py`, each measured once in small."""

import importlib
import importlib.util
import types

import keras
import numpy as np
import pytest

from tests.reference import small_models
from tools import benchmark
from tools.benchmarks import contest
from tools.benchmarks import networks
from tools.benchmarks import texts

SIZES = {
    "vocabulary_size": 50,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 32,
    "max_sequence_length": 12,
}
needs_tensorflow = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="reads text with TensorFlow"
)


def measure(name, **more):
    """Return what a section measured, and the contenders that were there."""
    module = importlib.import_module(benchmark.SECTIONS[name])
    found = module.measure(**{"sizes": {}, "rounds": 1} | more)
    present = {k for k, speed in found["per_second"].items() if speed}
    assert all(found["per_second"][contender] > 0 for contender in present)
    assert found["ratios"].keys() < present
    return found, present


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_pretrain():
    """All begin with the same loss."""
    found, _ = measure("pretrain", sizes=SIZES, batch_size=2)
    present = {"bfloat16", "float32"}
    if networks.has_transformers():
        present |= {"transformers", "compiled"}
    assert found["loss_before"].keys() == present
    assert found["losses_equal"] is True
    assert found["per_second"].keys() == found["first_seconds"].keys()


@pytest.mark.filterwarnings("ignore")
def test_generate(capsys):
    sizes = SIZES | {"max_sequence_length": 24}
    found, present = measure("generate", sizes=sizes, num_tokens=100)
    assert found["new_tokens"] == 24 - found["prompt_tokens"] == 8
    assert found["texts_equal"] is True
    libraries = ("torch", "transformers")
    theirs = all(importlib.util.find_spec(each) for each in libraries)
    assert present - ({"transformers"} if theirs else set()) == {
        *("cached", "streamed", "recomputed"),
    }


@needs_tensorflow
@pytest.mark.filterwarnings("ignore")
def test_reading_rows_and_tokenize():
    found, _ = measure("reading", words=40_000)
    assert found["batches"]["shards"] == found["batches"]["raw_text"] > 1
    assert found["corpus_tokens"] > 40_000
    found, _ = measure("rows", rows=200)
    assert found["batches"]["encoded"] == found["batches"]["raw"] > 1
    assert found["rows"] > 100 and found["unit"] == "tokens/s"
    found, present = measure("tokenize", words=5000)
    assert present - {"transformers"} == {"graph", "python", "python_new"}
    assert found["equal_books"]["python_new"] == 1.0
    assert found["equal_books"]["graph"] > 0.8
    assert found["tokens"] > 5000


@needs_tensorflow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_serve():
    sizes = SIZES | {"max_sequence_length": 64}
    found, present = measure("serve", sizes=sizes)
    assert found["labels_equal"] is True
    theirs = {"transformers", "transformers_1"}
    assert present - theirs == {"saved_model", "keras"}
    values = {k: v for k, v in found["one_string_ms"].items() if v}
    assert values.keys() == present and min(values.values()) > 0
    shares = found["tokenizer_share"]
    assert shares.keys() == {"saved_model", "keras", "transformers"}
    assert all(0 < share for share in shares.values() if share is not None)
    assert 3 <= found["words_per_string"] < 60


def test_contenders_take_turns_and_the_median_counts(monkeypatch):
    clock = types.SimpleNamespace(now=0.0)
    clock.perf_counter = lambda: clock.now
    monkeypatch.setattr(contest, "time", clock)
    calls = []

    def contender(name, *seconds):
        left = list(seconds)

        def call():
            clock.now += left.pop(0)
            calls.append(name)
            return name.upper()

        return call

    found, answers = contest.run(
        {
            "ours": contender("ours", 9, 1, 2, 4),
            # Three times as slow, whatever the machine does.
            "theirs": contender("theirs", 5, 3, 6, 12),
            "absent": None,
        },
        rounds=3,
        work=10,
        peer_of="ours",
    )
    assert calls == ["ours", "theirs"] * 4
    assert answers == {"ours": "OURS", "theirs": "THEIRS"}
    assert found == {
        "per_second": {"ours": 5.0, "theirs": 10 / 6, "absent": None},
        "first_seconds": {"ours": 9, "theirs": 5},
        "ratios": {"theirs": 3.0},
    }


def test_the_peer_has_the_same_weights(tmp_path, monkeypatch):
    sizes = networks.sizes("gpt1")
    assert (sizes["vocabulary_size"], sizes["hidden_dim"]) == (40478, 768)
    with monkeypatch.context() as context:
        context.setattr(networks.importlib.util, "find_spec", lambda _: None)
        assert networks.transformers_lm(None, tmp_path) is None
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    ours = networks.causal_lm(**SIZES)
    theirs = networks.transformers_lm(ours, tmp_path)
    ids = networks.token_ids(2, 12, vocabulary_size=50)
    assert ids.min() >= 1 and ids.max() < 50
    with torch.no_grad():
        expected = theirs(torch.tensor(ids, dtype=torch.long)).logits.numpy()
    found = small_models.read(ours(small_models.inputs(ids)))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_the_classifiers_take_strings_and_have_equal_sizes(tmp_path):
    pipeline = networks.tokenizer()
    model = networks.classifier(pipeline, **SIZES)
    assert model.backbone.vocabulary_size == pipeline.vocabulary_size > 1000
    inputs = model.preprocessor(["It was late.", "dull"])
    assert inputs["token_ids"].max() == pipeline.extract_id
    assert small_models.read(model(inputs)["logits"]).shape == (2, 2)
    if not networks.has_transformers():
        pytest.skip("transformers is not installed")
    peer = networks.transformers_pipeline(model, pipeline, tmp_path)
    ids = peer.tokenizer("it was late")["input_ids"]
    assert ids == pipeline.encode("it was late")
    count = sum(x.numel() for x in peer.model.transformer.parameters())
    rows = 3 * SIZES["hidden_dim"]  # of the special tokens
    assert count == model.backbone.count_params() - rows
    (answer,) = peer(["it was late"])
    assert answer["label"] in ("LABEL_0", "LABEL_1")


def test_texts():
    paragraphs = texts.paragraphs(5000)
    words = sum(len(paragraph.split()) for paragraph in paragraphs)
    assert 5000 <= words < 20000
    assert all(p == p.strip() and p for p in paragraphs)
    sentences = texts.sentences(50)
    assert len(sentences) == len(set(sentences)) == 50
    assert all(s.endswith(".") and len(s.split()) >= 3 for s in sentences)
