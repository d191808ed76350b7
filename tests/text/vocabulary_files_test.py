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


@pytest.mark.parametrize(
    "read, content, message",
    [
        ("read_byte_pairs", b"{", "line 1: not JSON"),
        ("read_byte_pairs", b"[1]", "JSON object from piece to id"),
        ("read_byte_pairs", b"{}", "JSON object from piece to id"),
        ("read_byte_pairs", b'{"a": 1}', "ids must be 0 to 0, each once"),
        ("read_byte_pairs", b'{"a": 0, "b": 0}', "ids must be 0 to 1"),
        ("read_byte_pairs", b'{"a": "0"}', "ids must be 0 to 0"),
        ("read_byte_pairs", b"\xff", "not UTF-8 at byte 0"),
        ("read_merges", b"#version\na b\na\n", "line 3: expected two pieces"),
        ("read_merges", b"#version\na b c\n", "line 2: expected two pieces"),
        ("read_word_pieces", b"", "empty vocabulary"),
        ("read_word_pieces", b"a\n\nb\n", "line 2: empty line"),
        ("read_word_pieces", b"a\nb\na\n", "line 3: 'a' appears twice"),
    ],
)
def test_a_malformed_file_is_one_clear_line(tmp_path, read, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(errors.InputError) as error:
        getattr(vocabulary_files, read)(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(errors.InputError, match="gone.*No such file"):
        vocabulary_files.read_merges(tmp_path / "gone")
