import pytest

from gpt1_keras import errors
from gpt1_keras.serving import tf_saved_model
from gpt1_keras.serving import verify
from gpt1_keras.text import tf_tokenizer
from gpt1_keras.text import tokenizer
from tests.reference import tiny_served

COMPARED = {
    "identical_texts": 1.0,
    "identical_tokens": 1.0,
    "compared_rows": 3,
    "largest_difference": 1e-6,
    "same_predictions": 1.0,
}
LETTERS = "abcdeghlmnorstyöÃ¶"
PYTHON = tokenizer.Tokenizer(
    ["<unk>", *LETTERS, *(f"{c}</w>" for c in f"{LETTERS}.,"), "\n</w>"], []
)


def test_answers_of_a_bare_process(tmp_path):
    server = tiny_served.server("race")
    rows = tiny_served.rows("race")
    requests = [
        {name: [getattr(row, name) for row in part] for name in server.texts}
        for part in (rows[:2], rows[2:])
    ]
    tf_saved_model.write(server, tmp_path / "1", labels=[], requests=[])
    found = verify.answers(tmp_path / "1", requests)
    for request, answer in zip(requests, found, strict=True):
        expected = server.answer(**request)
        assert answer["label"] == expected["label"].numpy().tolist()
        for ours, theirs in zip(
            answer["probabilities"], expected["probabilities"].numpy()
        ):
            assert ours == pytest.approx(theirs.tolist(), abs=1e-5)


def test_what_a_failed_process_wrote_is_harmless(tmp_path, monkeypatch):
    """It may quote what a user sent."""
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit('\\x1b[2J\\u202e' + 'a' * 9999)\n")
    monkeypatch.setattr(verify, "_REPLAY", program)
    with pytest.raises(RuntimeError, match="does not answer") as caught:
        verify.answers(tmp_path, [])
    message = str(caught.value)
    assert "\\x1b[2J\\u202eaaa" in message
    assert message.isascii() and message.isprintable() and len(message) < 2000


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"identical_tokens": 0.998}, "99.8000% of its tokens"),
        ({"compared_rows": 0, "largest_difference": 0.0}, "no row has"),
        ({"largest_difference": 2e-4}, "differ by 0.0002"),
        ({"largest_difference": float("nan")}, "differ by nan"),
        ({"same_predictions": 0.99}, "same_predictions is 0.99"),
        ({"same_num_tokens": 0.5}, "same_num_tokens is 0.5"),
    ],
)
def test_agreement(changes, expected):
    wanted = verify.Agreement(tolerance=1e-4, min_identical_tokens=0.999)
    wanted.check(COMPARED)
    with pytest.raises(errors.InputError, match=f"not published.*{expected}"):
        wanted.check(COMPARED | changes)


def test_identity_of_the_tokenizers(tmp_path):
    """Of the words of one paragraph, ftfy repairs one twice."""
    (tmp_path / "a.txt").write_text("The old gate.\n\nschÃƒÂ¶n, a b c\n")
    (tmp_path / "b.txt").write_text("Another tree.\n\nsome more\n")
    (tmp_path / "c.txt").write_bytes(b"\0\1")  # skipped
    found = verify.measure_identity(
        PYTHON, tf_tokenizer.GraphTokenizer(PYTHON), tmp_path
    )
    tokens = len("theoldgate." + "schön,abc" + "anothertree." + "somemore")
    # The graph repairs it once: two letters in place of one.
    assert found == {
        "paragraphs": 4,
        "identical_paragraphs": 0.75,
        "identical_paragraph_tokens": pytest.approx(
            (tokens - 1) / (tokens + 1)
        ),
    }
    with pytest.raises(errors.InputError, match="has no paragraph of text"):
        verify.measure_identity(PYTHON, None, tmp_path / "c.txt")
