import pytest

from gpt1_keras.data import shards
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary
from tools import prepare_corpus

TEXT = "The old man went home with his cat, and slept.\n" * 20
GIVEN = ["--vocabulary", "vocabulary.json", "--merges", "merges.txt"]
COMPLETE = [*GIVEN, "--output", "out"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with books/, vocabulary.json and merges.txt."""
    train_vocabulary.train_bpe([TEXT], vocabulary_size=60).save(tmp_path)
    (tmp_path / "books").mkdir()
    for name in ("one", "two"):
        (tmp_path / "books" / f"{name}.txt").write_text(TEXT + name)
    (tmp_path / "books" / "broken.txt").write_bytes(b"\0")
    (tmp_path / "named").write_text("two.txt\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_prepares_books(folder, capsys):
    assert prepare_corpus.main([*COMPLETE, "books"]) == 0
    told = capsys.readouterr().out
    assert "2 books" in told and "skipped broken.txt: binary" in told
    tokenizer = tokenizer_lib.Tokenizer.from_files(
        folder / "vocabulary.json", folder / "merges.txt"
    )
    prepared = shards.Shards.open(
        folder / "out", tokenizer_sha256=tokenizer.sha256
    )
    train = prepared.split("train")
    text = (folder / "books" / train.names[0]).read_text().strip()
    assert train.read(0, 0, 10**6).tolist() == tokenizer.encode(text)
