import collections
import functools

import numpy as np
import pytest

from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.text import tokenizer as tokenizer_lib
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
    dtype, contents = np.dtype("uint16"), []
    for count in (None, 2):
        folder = tmp_path / str(count)
        write = functools.partial(encode.write_piece, folder, LETTERS, dtype)
        sizes = encode.in_processes(write, tasks, num_processes=count)
        assert sum(sizes) == 2 * (len(TEXT) + 1)
        contents.append(data_files.contents(folder))
    assert contents[0] == contents[1] and len(contents[0]) == len(tasks)
    counts = encode.count_words(found, num_processes=2)
    words = TEXT.replace(",", " ,").replace(".", " .").lower().split()
    del counts["\n"]
    assert counts == collections.Counter(words + words)


@pytest.mark.parametrize("line_break", [[], ["\n</w>"]])
def test_pieces_have_the_ids_of_the_whole_book(
    tmp_path, monkeypatch, line_break
):
    monkeypatch.setattr(books, "_BLOCK_BYTES", 100)
    monkeypatch.setattr(encode, "_GROUP_CHARACTERS", 150)
    letters = [chr(i) for i in range(ord("a"), ord("z") + 1)]
    ends = [f"{letter}</w>" for letter in letters]
    tokenizer = tokenizer_lib.Tokenizer(
        ["<unk>", *letters, *ends, *line_break], []
    )
    path = tmp_path / "book.txt"
    path.write_text(TEXT + "\n")
    found, _ = books.check_all({"book": path})
    tasks, dtype, ids = encode.tasks_of(found, 700), np.dtype("uint16"), []
    for book, piece in tasks:
        encode.write_piece(tmp_path, tokenizer, dtype, book, piece)
        place = encode.piece_path(tmp_path, tokenizer, book, piece)
        ids += encode.read_piece(place, dtype)[0].tolist()
    assert len(tasks) > 10 and ids == tokenizer.encode(TEXT)


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_beam_writes_the_shards_of_a_single_machine(tmp_path, dtype):
    pytest.importorskip("apache_beam")
    folder = kill_run.write_books(tmp_path / "books")
    tokenizer = letter_tokenizer.LetterTokenizer(1 << 17)
    if dtype == "uint16":
        texts = [path.read_text() for path in folder.iterdir()]
        tokenizer = train_vocabulary.train_bpe(texts, vocabulary_size=60)
    recipe = prepare.Recipe(tokenizer, held_out_fraction=0.2)
    sizes = {"shard_tokens": 500, "piece_bytes": 300}
    one, many = tmp_path / "one", tmp_path / "many"
    prepare.prepare([folder], one, recipe, **sizes)
    beam = encode.in_beam("DirectRunner")
    prepare.prepare([folder], many, recipe, distribute=beam, **sizes)
    expected = data_files.contents(one)
    assert len([name for name in expected if name.endswith(".bin")]) > 3
    assert data_files.contents(many) == expected
