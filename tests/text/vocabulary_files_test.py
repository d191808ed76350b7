import json

import pytest

from gpt1_keras import errors
from gpt1_keras.text import vocabulary_files


def test_byte_pairs_come_back(tmp_path):
    pieces = ["<unk>", "a", "é", "a</w>", "é</w>", "aé</w>", "\n</w>"]
    merges = [("a", "é</w>")]
    vocabulary_files.write_byte_pairs(tmp_path / "new", pieces, merges)
    vocabulary = tmp_path / "new" / "vocabulary.json"
    assert vocabulary_files.read_byte_pairs(vocabulary) == pieces
    written = tmp_path / "new" / "merges.txt"
    assert vocabulary_files.read_merges(written) == merges
    # As released: a header, one pair a line, an empty last line.
    assert written.read_text("utf-8") == "#version: 0.2\na é</w>\n"
    ids = json.loads(vocabulary.read_text("utf-8"))
    assert ids == {piece: index for index, piece in enumerate(pieces)}


def test_word_pieces_come_back(tmp_path):
    pieces = ["[UNK]", "[NEWLINE]", "a", "##é"]
    vocabulary_files.write_word_pieces(tmp_path, pieces)
    path = tmp_path / "vocabulary.txt"
    assert vocabulary_files.read_word_pieces(path) == pieces
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert vocabulary_files.read_word_pieces(path) == pieces


MALFORMED = [
    ("read_byte_pairs", b"{", "invalid JSON (Expecting property name"),
    ("read_byte_pairs", b"[1]", "not a JSON object; a byte-pair vocabulary is"),
    ("read_byte_pairs", b"{}", "empty; a byte-pair vocabulary is"),
    ("read_byte_pairs", b'{"a": 1}', "ids must be 0 to 0, each once"),
    ("read_byte_pairs", b'{"a": 0, "b": 0}', "ids must be 0 to 1"),
    ("read_byte_pairs", b'{"a": "0"}', "ids must be 0 to 0"),
    ("read_byte_pairs", b"\xff", "not UTF-8 at byte 0"),
    ("read_byte_pairs", b'{"a": %s}' % (b"9" * 5000), "invalid JSON (Exceeds"),
    ("read_byte_pairs", b"[" * 100_000, "nested too deeply"),
    ("read_byte_pairs", b'{"\\ud800": 0}', "a piece is not valid UTF-8"),
    ("read_merges", b"#version\na b\na\n", "line 3: expected two pieces"),
    ("read_merges", b"#version\na b c\n", "line 2: expected two pieces"),
    ("read_word_pieces", b"", "empty vocabulary"),
    ("read_word_pieces", b"text,label\n", "'text,label'; a WordPiece"),
    ("read_word_pieces", b"[UNK]\n\nb\n", "line 2: empty line"),
    ("read_word_pieces", b"[UNK]\na\na\n", "line 3: 'a' appears twice"),
]


def test_a_malformed_file_is_one_clear_line(tmp_path):
    path = tmp_path / "file"
    for read, content, message in MALFORMED:
        path.write_bytes(content)
        with pytest.raises(errors.InputError) as error:
            getattr(vocabulary_files, read)(path)
        text = str(error.value)
        assert message in text and str(path) in text and text.isprintable()
    with pytest.raises(errors.InputError, match="gone.*No such file"):
        vocabulary_files.read_merges(tmp_path / "gone")
