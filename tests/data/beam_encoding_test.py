import os
import sys

import numpy as np
import pytest

from gpt1_keras.data import beam_encoding
from gpt1_keras.data import books
from gpt1_keras.data import corpus
from gpt1_keras.data import encode as encode_lib
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary
from tests.reference import letter_tokenizer

TEXT = "The old man went home with his cat, and slept a while.\n"
WORDS = "the old captain found a letter near his quiet garden house".split()


def write_books(folder):
    folder.mkdir()
    draws = np.random.default_rng(0)
    for number in range(6):
        lines = [
            " ".join(draws.choice(WORDS, 12)) + "." for _ in range(20 + number)
        ]
        (folder / f"book_{number}.txt").write_text("\n\n".join(lines))
    return folder


def beam(folder, **changes):
    pytest.importorskip("apache_beam")
    return beam_encoding.BeamEncoding(
        folder, **{"runner": "DirectRunner"} | changes
    )


def tasks_of(folder):
    scan = encode_lib.scan(books.find_books([folder]))
    return [
        (s, piece) for s in scan.sources for piece in books.cut(s.path, 300)
    ]


def contents(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def prepare_into(directory, books_folder, tokenizer, **changes):
    return corpus.prepare(
        [books_folder],
        tokenizer,
        directory,
        held_out_fraction=0.2,
        seed=0,
        shard_tokens=500,
        piece_bytes=300,
        **{"num_processes": 1} | changes,
    )


@pytest.mark.parametrize("vocabulary_size", [60, 1 << 17])
def test_same_shards_as_a_single_machine(tmp_path, vocabulary_size):
    """Every file is the same, whether ids take two bytes or four."""
    folder = write_books(tmp_path / "books")
    if vocabulary_size == 60:
        tokenizer = train_vocabulary.train_bpe([TEXT], vocabulary_size=60)
        assert isinstance(tokenizer, tokenizer_lib.Tokenizer)
    else:
        tokenizer = letter_tokenizer.LetterTokenizer(vocabulary_size)
    prepare_into(tmp_path / "one", folder, tokenizer)
    many = tmp_path / "many"
    encode = beam(many / beam_encoding.FOLDER)
    prepare_into(many, folder, tokenizer, encode_pieces=encode)
    expected = contents(tmp_path / "one")
    assert len([name for name in expected if name.endswith(".bin")]) > 3
    assert contents(many) == expected
    assert not (many / beam_encoding.FOLDER).exists()


def test_pieces_come_in_order(tmp_path):
    tasks = tasks_of(write_books(tmp_path / "books"))
    tokenizer = letter_tokenizer.LetterTokenizer()
    found = list(beam(tmp_path / "pieces")(tasks, tokenizer, "uint16"))
    expected = list(
        encode_lib.encode_pieces(tasks, tokenizer, "uint16", num_processes=1)
    )
    assert len(found) == len(expected) > 20
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]


def test_a_killed_pipeline_goes_on(tmp_path, monkeypatch):
    """Pieces that are files already are not encoded again."""
    tasks = tasks_of(write_books(tmp_path / "books"))
    tokenizer = letter_tokenizer.LetterTokenizer()
    pieces = tmp_path / "pieces"
    first = beam(pieces)(tasks, tokenizer, "uint16")
    ids, _ = next(first)
    first.close()
    assert len(list(pieces.iterdir())) == len(tasks)
    removed = sorted(pieces.iterdir())[3]
    removed.unlink()
    run, asked = beam_encoding.BeamEncoding._run, []

    def record(self, named_tasks, *rest):
        asked.extend(path for path, _ in named_tasks)
        return run(self, named_tasks, *rest)

    monkeypatch.setattr(beam_encoding.BeamEncoding, "_run", record)
    found = list(beam(pieces)(tasks, tokenizer, "uint16"))
    assert asked == [removed]
    assert len(found) == len(tasks)
    np.testing.assert_array_equal(found[0][0], ids)


def test_a_file_that_changes_meanwhile(tmp_path):
    tasks = tasks_of(write_books(tmp_path / "books"))
    os.utime(tasks[0][1].path, ns=(1, 1))
    encode = beam(tmp_path / "pieces")
    with pytest.raises(InputError, match="book_0.txt changed while") as caught:
        list(encode(tasks, letter_tokenizer.LetterTokenizer(), "uint16"))
    assert "\n" not in str(caught.value)


def test_a_runner_that_does_not_exist(tmp_path):
    with pytest.raises(InputError, match="--beam SlowRunner") as caught:
        beam(tmp_path / "pieces", runner="SlowRunner")
    assert "\n" not in str(caught.value)


def test_without_beam(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    with pytest.raises(InputError, match="requirements-beam.txt") as caught:
        beam_encoding.BeamEncoding(tmp_path, runner="DirectRunner")
    assert "\n" not in str(caught.value)
