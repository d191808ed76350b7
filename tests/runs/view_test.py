import pytest

from gpt1_keras import errors
from gpt1_keras.evaluation import text_view
from gpt1_keras.models import causal_lm
from gpt1_keras.runs import presets
from tests.reference import tiny_runs

TEXT = "the old captain walked under <a> tree"


def test_page_and_result_have_each_token(tiny, tmp_path):
    """`text_view_test` has the numbers."""
    preset = tiny.folder / "pretrained"
    found = tiny_runs.succeed(
        "gin/view.gin", tmp_path, PRESET=str(preset), TEXT=TEXT
    )
    model = presets.load(causal_lm.GPT1CausalLM, preset)
    tokenizer = model.preprocessor.tokenizer.pipeline
    ids = tokenizer.encode(TEXT)
    assert found["pieces"] == list(map(tokenizer.piece, ids))
    expected = text_view.log_probabilities(model, ids)
    assert found["log_probabilities"] == pytest.approx(expected, abs=1e-3)
    page = (tmp_path / "tokens.html").read_text(encoding="utf-8")
    assert page.count("<span") == len(ids)
    assert (tmp_path / found["attention"]).stat().st_size > 1000


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\0b")
    with pytest.raises(errors.InputError, match="TEXT_FILE.*is binary"):
        tiny_runs.run("view", "none", tmp_path, TEXT_FILE=f"{tmp_path}/a.txt")
