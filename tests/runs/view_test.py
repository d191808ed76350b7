import pytest

from gpt1_keras import errors
from gpt1_keras.runs import demo
from gpt1_keras.runs import view
from tests.reference import tiny_fine_tuned

TEXT = "the old captain walked under <a> tree"


def test_numbers_are_those_of_the_demonstration(tiny, tmp_path):
    preset = tiny.folder / "pretrained"
    found = tiny_fine_tuned.succeed(
        "gin/view.gin", tmp_path, PRESET=str(preset), TEXT=TEXT
    )
    expected = demo.LanguageModelAnswers(preset, seed=0).tokens(TEXT)
    assert found["pieces"] == [piece for piece, _ in expected]
    values = [value for _, value in expected]
    assert found["log_probabilities"] == pytest.approx(values, abs=1e-3)
    page = (tmp_path / "tokens.html").read_text(encoding="utf-8")
    assert page.count("<span") == len(expected)
    assert (tmp_path / found["attention"]).stat().st_size > 1000


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\0b")
    with pytest.raises(errors.InputError, match="`text_file`.*is binary"):
        view._ids("", tmp_path / "a.txt", None, 0)
