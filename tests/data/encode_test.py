import collections

import numpy as np

from gpt1_keras.data import books
from gpt1_keras.data import encode
from tests.reference import letter_tokenizer

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
    given = (tasks, letter_tokenizer.LetterTokenizer(), "uint16")
    one, two = (
        encode.encode_pieces(*given, num_processes=count) for count in (None, 2)
    )
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
    counts = encode.count_words(found, num_processes=2)
    words = TEXT.replace(",", " ,").replace(".", " .").lower().split()
    del counts["\n"]
    assert counts == collections.Counter(words + words)
