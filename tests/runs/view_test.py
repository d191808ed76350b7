"""A text as a model sees it, through `gpt1_keras.main`."""

import json

import pytest

from gpt1_keras.models import builders
from gpt1_keras.runs import demo
from gpt1_keras.runs import presets
from gpt1_keras.tasks import benchmarks
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_task

TEXT = "the old captain walked under <a> tree"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    tiny_task.write_preset(folder / "model")
    return folder


def run(folder, workdir, **settings):
    given = {"PRESET": str(folder / "model"), "TEXT": TEXT} | settings
    return tiny_fine_tuned.call_main("gin/view.gin", workdir, **given)


def result_of(workdir):
    return json.loads((workdir / "result.json").read_text())


def test_numbers_are_those_of_the_demonstration(folder, tmp_path):
    status, errors = run(folder, tmp_path)
    assert status == 0, errors
    found = result_of(tmp_path)
    answers = demo.LanguageModelAnswers(folder / "model", seed=0)
    expected = answers.tokens(TEXT)
    assert found["pieces"] == [piece for piece, _ in expected]
    values = [value for _, value in expected]
    assert found["log_probabilities"] == pytest.approx(values, abs=1e-3)
    page = (tmp_path / "tokens.html").read_text(encoding="utf-8")
    assert page.count("<span") == len(expected)
    assert (tmp_path / found["attention"]).stat().st_size > 1000


def test_a_head_of_a_layer(folder, tmp_path):
    status, errors = run(folder, tmp_path, LAYER=0, HEAD=1)
    assert status == 0, errors
    found = result_of(tmp_path)
    assert found["attention"] == "plots/attention_layer_0_head_1.png"
    assert (tmp_path / found["attention"]).exists()


def test_language_model_of_a_fine_tuned_one(folder, tmp_path):
    task = benchmarks.benchmark("cola")
    tiny_fine_tuned.write(folder / "cola", task, folder / "model")
    status, errors = run(folder, tmp_path, PRESET=str(folder / "cola"))
    assert status == 0, errors
    assert result_of(tmp_path)["attention"] is not None


def test_an_lstm_has_tokens_only(tmp_path):
    tokenizer = small_models.byte_pairs()
    network = small_models.lstm_network(
        vocabulary_size=tokenizer.vocabulary_size
    )
    model = builders.gpt1_causal_lm(network, tokenizer)
    presets.save(model, tmp_path / "lstm" / "preset")
    settings = {"PRESET": str(tmp_path / "lstm"), "TEXT": "the cat"}
    status, errors = run(tmp_path, tmp_path / "view", **settings)
    assert status == 0, errors
    assert result_of(tmp_path / "view")["attention"] is None
    assert not (tmp_path / "view" / "plots").exists()


def test_text_from_a_file_is_truncated(folder, tmp_path, caplog):
    (tmp_path / "a.txt").write_text(TEXT * 20)
    file = str(tmp_path / "a.txt")
    status, errors = run(folder, tmp_path / "view", TEXT_FILE=file)
    assert status == 0, errors
    assert "truncated to the model's 32 positions" in caplog.text
    assert result_of(tmp_path / "view")["num_examples"] == 32


def test_mistakes_are_one_line(folder, tmp_path):
    for settings, expected in (
        ({"TEXT": " "}, "no text is given"),
        ({"TEXT": 5}, "TEXT is 5: give a text in quotes"),
        ({"TEXT_FILE": "nowhere.txt"}, "TEXT_FILE: nowhere.txt cannot be read"),
        ({"LAYER": 2}, "LAYER is 2: the model has 2, give 0 to 1"),
        ({"HEAD": 2}, "HEAD is 2: the model has 2, give 0 to 1"),
        ({"PRESET": "nowhere"}, "PRESET: nowhere does not exist"),
    ):
        status, errors = run(folder, tmp_path / "view", **settings)
        assert status == 2
        assert expected in errors.splitlines()[-1]
        for name in ("result.json", "tokens.html"):
            assert not (tmp_path / "view" / name).exists()
