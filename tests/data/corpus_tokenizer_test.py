import pytest

from gpt1_keras.data import corpus_tokenizer
from gpt1_keras.data import scanning
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizers

SETTINGS = {"vocabulary_size": 60, "held_out_fraction": 0.0, "seed": 0}


@pytest.fixture
def scan(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("the old man and the old cat went home\n" * 20)
    return scanning.scan({"book": path})


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_trains_saves_and_does_not_train_again(
    scan, tmp_path, kind, monkeypatch
):
    first = corpus_tokenizer.train(
        scan, tmp_path, tokenizer_type=kind, **SETTINGS
    )
    assert first.type == kind and 10 < first.vocabulary_size <= 60
    assert first.decode(first.encode("The old cat")) == "the old cat"
    copy = tokenizers.Tokenizer.from_directory(tmp_path / "tokenizer")
    assert copy.sha256 == first.sha256
    monkeypatch.setattr(corpus_tokenizer, "_TRAINERS", {})
    again = corpus_tokenizer.train(
        scan, tmp_path, tokenizer_type=kind, **SETTINGS
    )
    assert again.sha256 == first.sha256
    with pytest.raises(KeyError):  # other settings are trained for
        corpus_tokenizer.train(
            scan,
            tmp_path,
            tokenizer_type=kind,
            **{**SETTINGS, "vocabulary_size": 50},
        )


def test_load_and_save(scan, tmp_path):
    tokenizer = corpus_tokenizer.train(
        scan, tmp_path, tokenizer_type="bpe", **SETTINGS
    )
    loaded = corpus_tokenizer.load(tmp_path, sha256=tokenizer.sha256)
    assert loaded.vocabulary == tokenizer.vocabulary
    with pytest.raises(InputError, match="is not the tokenizer"):
        corpus_tokenizer.load(tmp_path, sha256="0" * 64)
    other = tokenizers.Tokenizer(tokenizer.vocabulary[:-1], tokenizer.merges)
    corpus_tokenizer.save(other, tmp_path)
    assert corpus_tokenizer.load(tmp_path, sha256=other.sha256)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "book.txt",
        "tokenizer",
    ]


def test_check():
    corpus_tokenizer.check("wordpiece")
    with pytest.raises(
        InputError, match="'unigram': give one of bpe, wordpiece"
    ):
        corpus_tokenizer.check("unigram")
