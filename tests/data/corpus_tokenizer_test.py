import pytest

from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizer_lib

SETTINGS = {"vocabulary_size": 60, "held_out_fraction": 0.0, "seed": 0}


@pytest.fixture
def scan(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("the old man and the old cat went home\n" * 20)
    return encode.scan({"book": path})


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_trains_saves_and_does_not_train_again(
    scan, tmp_path, kind, monkeypatch
):
    first = prepare.train_tokenizer(
        scan, tmp_path, tokenizer_type=kind, **SETTINGS
    )
    assert first.type == kind and 10 < first.vocabulary_size <= 60
    assert first.decode(first.encode("The old cat")) == "the old cat"
    copy = tokenizer_lib.Tokenizer.from_directory(tmp_path / "tokenizer")
    assert copy.sha256 == first.sha256
    monkeypatch.setattr(prepare, "_TRAINERS", {})
    again = prepare.train_tokenizer(
        scan, tmp_path, tokenizer_type=kind, **SETTINGS
    )
    assert again.sha256 == first.sha256
    with pytest.raises(KeyError):  # other settings are trained for
        prepare.train_tokenizer(
            scan,
            tmp_path,
            tokenizer_type=kind,
            **{**SETTINGS, "vocabulary_size": 50},
        )


def test_load_and_save(scan, tmp_path):
    tokenizer = prepare.train_tokenizer(
        scan, tmp_path, tokenizer_type="bpe", **SETTINGS
    )
    loaded = prepare.load_tokenizer(tmp_path, sha256=tokenizer.sha256)
    assert loaded.vocabulary == tokenizer.vocabulary
    with pytest.raises(InputError, match="is not the tokenizer"):
        prepare.load_tokenizer(tmp_path, sha256="0" * 64)
    other = tokenizer_lib.Tokenizer(tokenizer.vocabulary[:-1], tokenizer.merges)
    prepare.save_tokenizer(other, tmp_path)
    assert prepare.load_tokenizer(tmp_path, sha256=other.sha256)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "book.txt",
        "tokenizer",
    ]


def test_check():
    prepare.check_tokenizer("wordpiece")
    with pytest.raises(
        InputError, match="'unigram': give one of bpe, wordpiece"
    ):
        prepare.check_tokenizer("unigram")
