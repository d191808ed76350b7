import numpy as np
import pytest

from gpt1_keras.runs import export
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_serving_options
from tests.reference import tiny_task

SCORES = (0.0, 4.75, 2.5, 3.0, 1.2)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    tiny_task.write_cola(folder)
    path = folder / "glue" / "STS-B" / "dev.tsv"
    path.parent.mkdir()
    lines = ["index\tsentence1\tsentence2\tscore"]
    for i, score in enumerate(SCORES):
        words = " ".join(tiny_task.WORDS[i : i + 3])
        lines.append(f"{i}\tthe garden {words}\tthe old gate\t{score}")
    path.write_text("\n".join(lines) + "\n")
    tiny_task.write_preset(folder / "pretrained")
    found = {}
    for name in ("cola", "stsb"):
        tiny_fine_tuned.write(
            folder / name, benchmarks.benchmark(name), folder / "pretrained"
        )
        found[name] = export.ServedTask(
            folder / name, tiny_serving_options.of(folder)
        )
    return found


def answers(served):
    return [
        {k: v.numpy() for k, v in served.server.answer(**request).items()}
        for request in served.requests()
    ]


@pytest.mark.parametrize("name", ["cola", "stsb"])
def test_the_model_agrees_with_its_server(served, name):
    served = served[name]
    requests = served.requests()
    assert sum(len(r["text"]) for r in requests) == len(served)
    assert set(requests[0]) == set(served.server.texts)
    metrics, compared = served.compare(answers(served))
    assert compared["identical_texts"] == 1.0
    assert compared["same_predictions"] == 1.0
    assert compared["largest_difference"] < 1e-5
    assert set(metrics) == set(
        {"cola": ("matthews", "accuracy"), "stsb": ("pearson", "spearman")}[
            name
        ]
    )


def test_other_probabilities_are_noticed(served):
    served = served["cola"]
    found = answers(served)
    found[0]["probabilities"] = np.array(found[0]["probabilities"])
    first = found[0]["probabilities"][0]
    found[0]["probabilities"][0] = first[::-1]
    _, compared = served.compare(found)
    assert compared["largest_difference"] == pytest.approx(
        abs(first[0] - first[1]), abs=1e-5
    )


@pytest.mark.parametrize("other", ["swapped", b"neither"])
def test_other_labels_are_noticed(served, other):
    """Also where the probabilities beside them are right."""
    served = served["cola"]
    found = answers(served)
    right = found[0]["label"][0].decode()
    if other == "swapped":
        other = {"0": b"1", "1": b"0"}[right]
    found[0]["label"] = np.array([other, *found[0]["label"][1:]], object)
    _, compared = served.compare(found)
    assert compared["largest_difference"] < 1e-5
    assert compared["same_predictions"] == pytest.approx(1 - 1 / len(served))


def test_other_scores_are_noticed(served):
    served = served["stsb"]
    found = answers(served)
    found[0]["score"] = np.array(found[0]["score"])
    found[0]["score"][0] += 0.5
    _, compared = served.compare(found)
    assert compared["largest_difference"] == pytest.approx(0.1, abs=1e-5)
    assert compared["same_predictions"] == pytest.approx(1 - 1 / len(served))


def test_only_rows_of_equal_ids_are_compared(served, monkeypatch):
    served = served["cola"]
    ids = served._ids_in_graph()
    ids[0] = [[*ids[0][0], 0]]
    monkeypatch.setattr(served, "_ids_in_graph", lambda: ids)
    found = answers(served)
    swapped = {b"0": b"1", b"1": b"0"}[found[0]["label"][0]]
    found[0]["label"] = np.array([swapped, *found[0]["label"][1:]], object)
    _, compared = served.compare(found)
    assert compared["compared_rows"] == len(served) - 1
    assert compared["same_predictions"] == 1.0
    assert compared["identical_texts"] == pytest.approx(1 - 1 / len(served))


def test_what_it_says_of_itself(served):
    assert served["cola"].labels == ["0", "1"]
    assert served["stsb"].labels == []
    assert (served["cola"].name, served["cola"].split) == ("cola", "dev")
    assert served["cola"].sequence_length == tiny_fine_tuned.LENGTH
    assert served["cola"].num_parameters > 1000
