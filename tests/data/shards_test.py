import numpy as np
import pytest

from gpt1_keras.data import prepare
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError
from tests.reference import data_files
from tests.reference import letter_tokenizer
from tests.reference.data_files import put
from tests.reference.data_files import set_json

BOOKS = {"a": "ab c de", "b": "f", "c": "ghi jkl mnop qrs"}


def write(directory, *, shard_tokens=4, vocabulary_size=128):
    """Prepare BOOKS, "b" held out."""
    paths = {
        name: data_files.write(directory.with_name("texts"), name, text)
        for name, text in BOOKS.items()
    }
    tokenizer = letter_tokenizer.LetterTokenizer(vocabulary_size)
    recipe = prepare.Recipe(tokenizer, held_out_books=("b",))
    prepare.prepare(paths, directory, recipe, shard_tokens=shard_tokens)


@pytest.mark.parametrize("vocabulary_size", [128, 70_000])
@pytest.mark.parametrize("shard_tokens", [1, 4, 5, 100])
def test_reads_what_was_written(tmp_path, shard_tokens, vocabulary_size):
    write(tmp_path, shard_tokens=shard_tokens, vocabulary_size=vocabulary_size)
    opened = shards.Shards.open(tmp_path)
    train = opened.split("train")
    assert train.names == ["a", "c"] and train.lengths.tolist() == [5, 13]
    assert train.words.tolist() == [3, 4]
    assert opened.split("held_out").names == ["b"]
    for book, start, expected in (
        (1, 0, b"ghi"),
        (0, 2, b"cde"),
        (1, 10, b"qrs"),
    ):
        ids = train.read(book, start, start + 3)
        assert ids.dtype == np.int32 and ids.tolist() == [*expected]
    assert train.read(0, 3, 99).tolist() == [*b"de"]
    for size, expected in ((65_536, "uint16"), (65_537, "uint32")):
        assert shards.token_dtype(size) == expected


INDEX, SHARD = "index.json", "shard_00001.bin"
SPOILERS = [
    ("checksum mismatch", lambda d: data_files.flip_bit(d / SHARD, 3)),
    ("does not have 8 bytes", lambda d: (d / SHARD).write_bytes(b"12")),
    ("is missing or", lambda d: (d / "shard_00004.bin").unlink()),
    ("index.json cannot be read", lambda d: (d / INDEX).unlink()),
    ("invalid JSON", put(INDEX, b'{"format": 1')),
    ("Exceeds the limit", put(INDEX, b'{"format": ' + b"9" * 5000 + b"}")),
    ("its format is 0, not 1", put(INDEX, b'{"format": 0}')),
    ("does not have 8 bytes", set_json(INDEX, "books", 0, "tokens", to=6)),
    ("disagree", set_json(INDEX, "books", 0, "tokens", to=2**52)),
    (
        "'words' is 9007199254740992",
        set_json(INDEX, "books", 1, "words", to=2**53),
    ),
    ("does not have 16 bytes", set_json(INDEX, "vocabulary_size", to=70_000)),
]


def test_a_spoiled_folder_is_refused_in_one_line(tmp_path):
    for number, (message, spoil) in enumerate(SPOILERS):
        folder = tmp_path / str(number)
        write(folder)
        shards.Shards.open(folder)
        spoil(folder)
        with pytest.raises(InputError, match=message) as caught:
            shards.Shards.open(folder)
        text = str(caught.value)
        assert text.isprintable() and str(folder) in text
