import numpy as np
import pytest
from scipy import special

from gpt1_keras.data import examples
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import demo
from gpt1_keras.tasks import benchmarks
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    tiny_task.write_preset(folder / "pretrained")
    return folder


@pytest.mark.parametrize("name", ["sst2", "rte", "stsb", "race"])
def test_task(folder, name):
    task = benchmarks.benchmark(name)
    model = tiny_fine_tuned.write(folder / name, task, folder / "pretrained")
    answers = demo.TaskAnswers(folder / name / "preset")
    given = {
        "text": "the old captain",
        "text_pair": "our gate",
        "choices": ("a tree", "near", "a tree"),
    }
    given = {key: given[key] for key in answers.inputs}
    logits = tiny_fine_tuned.logits_one_by_one(
        model, [examples.Example(**given)]
    )
    expected = special.softmax(logits[0])
    found = answers(**given)
    assert answers.task == name and answers.is_score == (name == "stsb")
    if answers.is_score:
        assert found == pytest.approx(expected @ np.arange(6), abs=1e-4)
        return
    assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-5)
    words = task.label_space.class_names or (
        "0: a tree",
        "1: near",
        "2: a tree",
    )
    assert tuple(found) == tuple(words)


@pytest.fixture(scope="module")
def language_model(folder):
    return demo.LanguageModelAnswers(folder / "pretrained", seed=1)


@pytest.mark.parametrize("text", ["the old captain\nnear", "x", "the " * 50])
def test_tokens(folder, language_model, text):
    model = causal_lm.GPT1CausalLM.from_preset(str(folder / "pretrained"))
    tokenizer = model.preprocessor.tokenizer.pipeline
    ids = tokenizer.encode(text)[:32]
    found = language_model.tokens(text)
    assert len(found) == len(ids)
    if "\n" in text:
        assert "\u23ce" in [piece for piece, _ in found]
    for i, (_, value) in enumerate(found):
        before = np.array(
            [[tokenizer.newline_id, *ids[:i], 0][: max(2, i + 1)]]
        )
        logits = model(
            {"token_ids": before, "padding_mask": np.ones_like(before)}
        )
        row = np.asarray(logits[0, i], "float64")
        assert value == pytest.approx(
            special.log_softmax(row)[ids[i]], abs=1e-4
        )


def test_nothing_has_no_tokens(language_model):
    assert language_model.tokens(" \n ") == []


def test_continuation_grows_and_repeats(language_model):
    first, second = (
        list(language_model.continued("the old", 12, 1.0)) for _ in range(2)
    )
    assert first == second and len(first) == 12
    assert first[-1].startswith("the old") and len(first[-1]) > 10
    assert list(language_model.continued("", 3, 1.0))
