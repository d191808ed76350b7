import json

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
