import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.text import train_vocabulary
from tests.reference import data_files
from tests.reference import letter_tokenizer

LETTERS = letter_tokenizer.LetterTokenizer()
WORDS = "the old captain found a letter near his quiet garden house".split()


@pytest.fixture
def folder(tmp_path):
    """Six small books."""
    folder = tmp_path / "books"
    folder.mkdir()
    draws = np.random.default_rng(0)
    for number in range(6):
        lines = [
            " ".join(draws.choice(WORDS, 12)) + "." for _ in range(20 + number)
        ]
        (folder / f"book_{number}.txt").write_text("\n\n".join(lines))
    return folder


def beam(folder, runner="DirectRunner"):
    pytest.importorskip("apache_beam")
    return encode.BeamEncoding(folder, runner=runner)


def tasks_of(folder):
    found, _ = books.check_all(books.find_books([folder]))
    return encode.tasks_of(found, 300)


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_same_shards_as_a_single_machine(tmp_path, folder, dtype):
    tokenizer = letter_tokenizer.LetterTokenizer(1 << 17)
    if dtype == "uint16":
        tokenizer = train_vocabulary.train_bpe(WORDS * 3, vocabulary_size=60)
    recipe = prepare.Recipe(tokenizer, held_out_fraction=0.2)
    sizes = {"shard_tokens": 500, "piece_bytes": 300}
    one, many = tmp_path / "one", tmp_path / "many"
    prepare.prepare([folder], one, recipe, **sizes)
    encoding = beam(many / encode.PIECES)
    prepare.prepare([folder], many, recipe, encode_pieces=encoding, **sizes)
    expected = data_files.contents(one)
    assert len([name for name in expected if name.endswith(".bin")]) > 3
    assert data_files.contents(many) == expected
    assert not (many / encode.PIECES).exists()


def test_a_killed_pipeline_resumes(tmp_path, folder, monkeypatch):
    """Pieces that are already files are not encoded again."""
    tasks = tasks_of(folder)
    expected = list(encode.encode_pieces(tasks, LETTERS, "uint16"))
    pieces = tmp_path / "pieces"
    first = beam(pieces)(tasks, LETTERS, "uint16")
    np.testing.assert_array_equal(next(first)[0], expected[0][0])
    first.close()
    assert len(list(pieces.iterdir())) == len(tasks)
    removed = sorted(pieces.iterdir())[3]
    removed.unlink()
    run, asked = encode.BeamEncoding._run, []

    def record(self, named_tasks, *rest):
        asked.extend(path for path, _ in named_tasks)
        return run(self, named_tasks, *rest)

    monkeypatch.setattr(encode.BeamEncoding, "_run", record)
    found = list(beam(pieces)(tasks, LETTERS, "uint16"))
    assert asked == [removed]
    assert len(found) == len(expected) > 20
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
