"""A served model compared with the Keras model, in this process."""

import types

import numpy as np
import pytest

from gpt1_keras.data import examples as examples_lib
from gpt1_keras.evaluation import scoring
from gpt1_keras.serving import tf_served
from gpt1_keras.tasks import benchmarks
from gpt1_keras.training import learner
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_served
from tests.reference import tiny_task

SCORES = (0.0, 4.75, 2.5, 3.0, 1.2)
TEXTS = ["the old gate", "a tall tree near our gate", "x", "the " * 40]


def fine_tuned(name):
    """Return the model of a task as `presets.FineTuned` has it."""
    network = tiny_served.model(name)
    predictor = learner.Learner(network)
    return types.SimpleNamespace(
        network=network,
        preprocessor=network.preprocessor,
        logits=lambda examples: examples.logits(predictor),
    )


@pytest.fixture(scope="module")
def served():
    """{name: `ServedTask`} of sst2 (40 rows) and stsb (5 rows)."""
    words = tiny_task.WORDS
    rows = {
        "sst2": [
            examples_lib.Example(
                f"{words[i % 9]} {words[i // 9]}", label=str(i % 2)
            )
            for i in range(40)
        ],
        "stsb": [
            examples_lib.Example(" ".join(words[i : i + 3]), "gate", (), score)
            for i, score in enumerate(SCORES)
        ],
    }
    found = {}
    for name, examples in rows.items():
        task, model = benchmarks.benchmark(name), fine_tuned(name)
        tokenizer = model.preprocessor.tokenizer.pipeline
        labelled = scoring.Labelled(
            task,
            examples,
            tokenizer=tokenizer,
            max_sequence_length=tiny_fine_tuned.LENGTH,
            batch_size=8,
            bucket_lengths=(8, 16, 32),
            name=name,
        )
        graph = tiny_served.graph_tokenizer(tokenizer.sha256)
        found[name] = tf_served.ServedTask(model, labelled, graph, "float32")
    return found


@pytest.fixture(scope="module")
def language_model():
    network = tiny_served.language_model()
    tokenizer = network.preprocessor.tokenizer.pipeline
    graph = tiny_served.graph_tokenizer(tokenizer.sha256)
    return tf_served.ServedLanguageModel(network, TEXTS, graph, "float32")


def answers(served):
    return [
        {k: v.numpy() for k, v in served.server.answer(**request).items()}
        for request in served.requests()
    ]


@pytest.mark.parametrize("name", ["sst2", "stsb"])
def test_task_agrees_with_its_server(served, name):
    requests = served[name].requests()
    assert [len(each["text"]) for each in requests] == (
        [32, 8] if name == "sst2" else [5]
    )
    metrics, compared = served[name].compare(answers(served[name]))
    assert compared["identical_texts"] == compared["same_predictions"] == 1.0
    assert compared["largest_difference"] < 1e-5
    main = {"sst2": ["accuracy"], "stsb": ["pearson", "spearman"]}
    assert list(metrics) == main[name]
    assert served[name].labels == (["0", "1"] if name == "sst2" else [])
    assert served[name].name == name
    assert served[name].sequence_length == tiny_fine_tuned.LENGTH
    assert served[name].num_parameters > 1000


@pytest.mark.parametrize("other", ["swapped", b"neither"])
def test_other_labels_are_noticed(served, other):
    """Even if the probabilities next to them are right."""
    found = answers(served["sst2"])
    label = found[0]["label"][0]
    if other == "swapped":
        other = {b"0": b"1", b"1": b"0"}[label]
    found[0]["label"] = np.array([other, *found[0]["label"][1:]], object)
    _, compared = served["sst2"].compare(found)
    assert compared["largest_difference"] < 1e-5
    assert compared["same_predictions"] == pytest.approx(1 - 1 / 40)


def test_other_numbers_are_noticed(served, language_model):
    found = answers(served["sst2"])
    first = found[0]["probabilities"][0].copy()
    found[0]["probabilities"][0] = first[::-1]
    _, compared = served["sst2"].compare(found)
    assert compared["largest_difference"] == pytest.approx(
        abs(first[0] - first[1]), abs=1e-5
    )
    found = answers(served["stsb"])
    found[0]["score"][0] += 0.5
    _, compared = served["stsb"].compare(found)
    assert compared["largest_difference"] == pytest.approx(0.1, abs=1e-5)
    assert compared["same_predictions"] == pytest.approx(0.8)
    found = answers(language_model)
    found[0]["log_probability"] = found[0]["log_probability"] - 0.5
    found[0]["num_tokens"] = found[0]["num_tokens"] + [1, 0, 0, 0]
    _, compared = language_model.compare(found)
    assert compared["same_num_tokens"] == 0.75
    lengths = [len(ids) for ids in language_model_ids(language_model)]
    assert compared["largest_difference"] == pytest.approx(
        0.5 / min(lengths), abs=1e-4
    )


def language_model_ids(served):
    tokenizer = tiny_served.language_model().preprocessor.tokenizer.pipeline
    return [
        ids[: served.sequence_length] for ids in tokenizer.encode_batch(TEXTS)
    ]


def test_only_rows_with_equal_ids_are_compared(served, monkeypatch):
    one = served["sst2"]
    ids = one._ids_in_graph()
    ids[0] = [[*ids[0][0], 0]]
    monkeypatch.setattr(one, "_ids_in_graph", lambda: ids)
    found = answers(one)
    swapped = {b"0": b"1", b"1": b"0"}[found[0]["label"][0]]
    found[0]["label"] = np.array([swapped, *found[0]["label"][1:]], object)
    _, compared = one.compare(found)
    assert compared["compared_rows"] == 39
    assert compared["same_predictions"] == 1.0
    assert compared["identical_texts"] == pytest.approx(1 - 1 / 40)


def test_language_model_agrees_with_its_server(language_model):
    found = answers(language_model)
    metrics, compared = language_model.compare(found)
    assert compared["identical_texts"] == compared["same_num_tokens"] == 1.0
    assert compared["compared_rows"] == 4
    assert compared["largest_difference"] < 1e-5
    tokens = sum(answer["num_tokens"].sum() for answer in found)
    total = sum(answer["log_probability"].sum() for answer in found)
    assert metrics["loss"] == pytest.approx(-total / tokens)
    assert metrics["perplexity"] == pytest.approx(np.exp(-total / tokens))
    assert found[0]["is_cut"].tolist() == [False, False, False, True]


def test_rounded_weights():
    model = tiny_served.model("race")
    before = [np.array(variable) for variable in model.weights]
    tf_served.round_weights(model, "float16")
    num_changed = 0
    for variable, value in zip(model.weights, before, strict=True):
        if value.dtype == "float32":
            rounded = value.astype("float16").astype("float32")
            np.testing.assert_array_equal(variable, rounded)
            num_changed += (rounded != value).sum()
        variable.assign(value)
    assert num_changed
