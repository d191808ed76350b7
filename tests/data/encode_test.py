import collections

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.text import train_vocabulary
from tests.reference import data_files
from tests.reference import kill_run
from tests.reference import letter_tokenizer

LETTERS = letter_tokenizer.LetterTokenizer()
TEXT = "\n".join(
    f"Paragraph {i} is long enough to be cut, here and there."
    for i in range(200)
)


def test_processes_give_the_same_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(books, "_BLOCK_BYTES", 100)  # cut at line ends here
    monkeypatch.setattr(encode, "_GROUP_CHARACTERS", 150)
    path = tmp_path / "book.txt"
    path.write_text(TEXT + "\n")
    found, _ = books.check_all({"book": path, "again": path})
    tasks = encode.tasks_of(found, 700)
    given = (tasks, LETTERS, "uint16")
    one, two = (
        list(encode.encode_pieces(*given, num_processes=count))
        for count in (None, 2)
    )
    np.testing.assert_equal(one, two)
    counts = encode.count_words(found, num_processes=2)
    words = TEXT.replace(",", " ,").replace(".", " .").lower().split()
    del counts["\n"]
    assert counts == collections.Counter(words + words)


def beam(folder):
    pytest.importorskip("apache_beam")
    return encode.BeamEncoding(folder, runner="DirectRunner")


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_beam_writes_the_shards_of_a_single_machine(tmp_path, dtype):
    folder = kill_run.write_books(tmp_path / "books")
    tokenizer = letter_tokenizer.LetterTokenizer(1 << 17)
    if dtype == "uint16":
        texts = [path.read_text() for path in folder.iterdir()]
        tokenizer = train_vocabulary.train_bpe(texts, vocabulary_size=60)
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


def test_a_killed_pipeline_resumes(tmp_path, monkeypatch):
    """Pieces that are already files are not encoded again."""
    folder = kill_run.write_books(tmp_path / "books")
    found, _ = books.check_all(books.find_books([folder]))
    tasks = encode.tasks_of(found, 300)
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
    assert len(found) > 20
    np.testing.assert_equal(found, expected)
