"""A text as a model sees it."""

import pytest

from gpt1_keras import errors
from gpt1_keras import results
from gpt1_keras.models import builders
from gpt1_keras.runs import demo
from gpt1_keras.runs import presets
from tests.reference import small_models
from tests.reference import tiny_fine_tuned
from tests.reference import tiny_runs

TEXT = "the old captain walked under <a> tree"


def test_numbers_are_those_of_the_demonstration(tiny, tmp_path):
    preset = tiny.folder / "pretrained"
    status, messages = tiny_fine_tuned.call_main(
        "gin/view.gin", tmp_path, PRESET=str(preset), TEXT=TEXT
    )
    assert status == 0, messages
    found = results.read(tmp_path)
    expected = demo.LanguageModelAnswers(preset, seed=0).tokens(TEXT)
    assert found["pieces"] == [piece for piece, _ in expected]
    values = [value for _, value in expected]
    assert found["log_probabilities"] == pytest.approx(values, abs=1e-3)
    page = (tmp_path / "tokens.html").read_text(encoding="utf-8")
    assert page.count("<span") == len(expected)
    assert (tmp_path / found["attention"]).stat().st_size > 1000


def test_a_head_of_a_layer_of_a_fine_tuned_model(tiny, tmp_path):
    preset = tiny.folder / "cola"
    found = tiny_runs.view(tmp_path, preset, TEXT, layer=0, head=1)
    assert found["attention"] == "plots/attention_layer_0_head_1.png"
    assert (tmp_path / found["attention"]).exists()


def test_an_lstm_has_tokens_only(tmp_path):
    tokenizer = small_models.byte_pairs()
    network = small_models.lstm_network(
        vocabulary_size=tokenizer.vocabulary_size
    )
    model = builders.gpt1_causal_lm(network, tokenizer)
    presets.save(model, tmp_path / "lstm" / "preset")
    found = tiny_runs.view(tmp_path / "view", tmp_path / "lstm", "the cat")
    assert found["attention"] is None
    assert not (tmp_path / "view" / "plots").exists()


def test_text_from_a_file_is_truncated(tiny, tmp_path, caplog):
    (tmp_path / "a.txt").write_text(TEXT * 20)
    found = tiny_runs.view(
        *(tmp_path / "view", tiny.folder / "pretrained"),
        text_file=str(tmp_path / "a.txt"),
    )
    assert "truncated to the model's 32 positions" in caplog.text
    assert found["num_examples"] == 32


def test_mistakes(tiny, tmp_path):
    for settings, expected in (
        ({"text": " "}, "no text is given"),
        ({"text": 5}, "`text` is 5: give a text in quotes"),
        ({"text_file": "nowhere.txt"}, "`text_file`: nowhere.txt cannot be"),
        ({"layer": 2}, "`layer` is 2: the model has 2, give 0 to 1"),
        ({"head": 2}, "`head` is 2: the model has 2, give 0 to 1"),
    ):
        with pytest.raises(errors.InputError, match=expected):
            tiny_runs.view(tmp_path, tiny.folder / "pretrained", **settings)
        assert not list(tmp_path.iterdir())
