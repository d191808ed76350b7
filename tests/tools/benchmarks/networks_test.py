import numpy as np
import pytest

from tests.reference import small_models
from tools.benchmarks import networks

SIZES = {
    "vocabulary_size": 50,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 32,
    "max_sequence_length": 12,
}


def test_sizes_of_the_paper():
    assert networks.sizes("gpt1") == {
        "vocabulary_size": 40478,
        "num_layers": 12,
        "num_heads": 12,
        "hidden_dim": 768,
        "intermediate_dim": 3072,
        "max_sequence_length": 512,
    }


def test_the_peer_has_the_same_weights(tmp_path):
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


def test_without_the_peer(monkeypatch, tmp_path):
    monkeypatch.setattr(networks.importlib.util, "find_spec", lambda name: None)
    assert networks.transformers_lm(None, tmp_path) is None


def test_the_classifier_takes_strings_and_has_the_vocabulary():
    pipeline = networks.tokenizer()
    model = networks.classifier(pipeline, **SIZES)
    assert model.backbone.vocabulary_size == pipeline.vocabulary_size > 1000
    inputs = model.preprocessor(["It was late.", "dull"])
    assert inputs["token_ids"].max() == pipeline.extract_id
    assert small_models.read(model(inputs)["logits"]).shape == (2, 2)


@pytest.mark.filterwarnings("ignore")
def test_the_peer_pipeline_is_of_the_same_size(tmp_path):
    if not networks.has_transformers():
        pytest.skip("transformers is not installed")
    pipeline = networks.tokenizer()
    model = networks.classifier(pipeline, **SIZES)
    peer = networks.transformers_pipeline(model, pipeline, tmp_path)
    ids = peer.tokenizer("it was late")["input_ids"]
    assert ids == pipeline.encode("it was late")
    count = sum(x.numel() for x in peer.model.transformer.parameters())
    rows = 3 * SIZES["hidden_dim"]  # of the special tokens
    assert count == model.backbone.count_params() - rows
    (answer,) = peer(["it was late"])
    assert answer["label"] in ("LABEL_0", "LABEL_1")
