import pytest

from gpt1_keras.runs import export
from tests.reference import tiny_serving_options
from tests.reference import tiny_task

TEXTS = ["the old gate", "a tall tree near our gate", "x", "the " * 40]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    path = folder / "glue" / "SST-2" / "dev.tsv"
    path.parent.mkdir(parents=True)
    rows = "".join(f"{text}\t1\n" for text in TEXTS)
    path.write_text(f"sentence\tlabel\n{rows}")
    tiny_task.write_preset(folder / "pretrained")
    return export.ServedLanguageModel(
        folder / "pretrained", tiny_serving_options.of(folder)
    )


def answers(served):
    return [
        {k: v.numpy() for k, v in served.server.answer(**request).items()}
        for request in served.requests()
    ]


def test_the_model_agrees_with_its_server(served):
    found = answers(served)
    assert sum(len(r["text"]) for r in served.requests()) == len(TEXTS)
    metrics, compared = served.compare(found)
    assert compared["identical_texts"] == 1.0
    assert compared["largest_difference"] < 1e-5
    tokens = sum(answer["num_tokens"].sum() for answer in found)
    total = sum(answer["log_probability"].sum() for answer in found)
    assert metrics["loss"] == pytest.approx(-total / tokens)
    assert found[0]["is_cut"].tolist() == [False, False, False, True]


def test_other_answers_are_noticed(served):
    found = answers(served)
    found[0]["log_probability"] = found[0]["log_probability"] - 0.5
    _, compared = served.compare(found)
    assert compared["largest_difference"] == pytest.approx(0.5, abs=1e-4)


def test_other_lengths_are_noticed(served):
    found = answers(served)
    found[0]["num_tokens"] = found[0]["num_tokens"] + [1, 0, 0, 0]
    _, compared = served.compare(found)
    assert compared["same_num_tokens"] == 0.75
    assert compared["compared_rows"] == 4
