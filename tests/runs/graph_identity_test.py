import pytest

from gpt1_keras import errors
from gpt1_keras.serving import verify
from gpt1_keras.text import tf_tokenizer
from gpt1_keras.text import tokenizer

LETTERS = "abcdeghlmnorstyöÃ¶"
PYTHON = tokenizer.Tokenizer(
    [
        *("<unk>", *LETTERS, *(f"{c}</w>" for c in f"{LETTERS}.,"), "\n</w>"),
    ],
    [],
)


def test_shares(tmp_path):
    """Of the words of one paragraph, one is mended by ftfy alone."""
    (tmp_path / "a.txt").write_text("The old gate.\n\nschÃ¶n, a b c\n")
    (tmp_path / "b.txt").write_text("Another tree.\n\nsome more\n")
    (tmp_path / "c.txt").write_bytes(b"\0\1")  # left out
    found = verify.measure_identity(
        PYTHON, tf_tokenizer.GraphTokenizer(PYTHON), tmp_path
    )
    tokens = sum(
        map(len, ("theoldgate.", "schön,abc", "anothertree.", "somemore"))
    )
    # The graph has two letters in place of one.
    assert found == {
        "paragraphs": 4,
        "identical_paragraphs": 0.75,
        "identical_paragraph_tokens": pytest.approx(
            (tokens - 1) / (tokens + 1)
        ),
    }


def test_no_text(tmp_path):
    with pytest.raises(errors.InputError, match="does not exist"):
        verify.measure_identity(PYTHON, None, tmp_path / "nowhere")
    (tmp_path / "a.txt").write_bytes(b"\0")
    with pytest.raises(errors.InputError, match="IDENTITY_TEXTS .* no para"):
        verify.measure_identity(PYTHON, None, tmp_path / "a.txt")
