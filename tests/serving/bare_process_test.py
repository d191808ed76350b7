import pytest

from gpt1_keras.serving import tf_saved_model
from gpt1_keras.serving import verify
from tests.reference import tiny_served


def test_answers(tmp_path):
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
        for got, want in zip(
            answer["probabilities"], expected["probabilities"].numpy()
        ):
            assert got == pytest.approx(want.tolist(), abs=1e-5)


def test_failure(tmp_path):
    with pytest.raises(RuntimeError, match="does not answer"):
        verify.answers(tmp_path / "nothing", [{"text": ["a"]}])


def test_what_it_wrote_is_harmless(tmp_path, monkeypatch):
    """It may quote what a user sent."""
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit('\\x1b[2J\\u202e' + 'a' * 9999)\n")
    monkeypatch.setattr(verify, "_REPLAY", program)
    with pytest.raises(RuntimeError) as caught:
        verify.answers(tmp_path, [])
    message = str(caught.value)
    assert "\\x1b[2J\\u202eaaa" in message
    assert message.isascii() and message.isprintable() and len(message) < 2000
