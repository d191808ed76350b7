import hashlib
import os
import textwrap

import pytest

from gpt1_keras.data import books
from gpt1_keras.errors import InputError
from tests.reference import data_files

BROKEN = {
    b"": "empty",
    b"\xef\xbb\xbf \r\n\t\n": "empty",
    b"caf\xe9 au lait": "not UTF-8",
    "long ".encode() * 300_000 + b"\xc3": "not UTF-8",
    "text".encode("utf-16"): "UTF-16",
    b"\x89PNG\r\n\x1a\n\0\0\0": "binary",
}


def test_broken_books_are_skipped_with_their_reason(tmp_path):
    files = {}
    for number, content in enumerate([b"text", *BROKEN, b"more"]):
        files[f"{number}.txt"] = tmp_path / f"{number}.txt"
        files[f"{number}.txt"].write_bytes(content)
    found, skipped = books.check_all(files)
    assert [book.name for book in found] == ["0.txt", "7.txt"]
    assert [entry["name"] for entry in skipped] == list(files)[1:-1]
    for entry, reason in zip(skipped, BROKEN.values(), strict=True):
        assert reason in entry["reason"]
    assert found[0].sha256 == hashlib.sha256(b"text").hexdigest()
    assert (found[0].stamp[0], found[0].path) == (4, str(files["0.txt"]))
    with pytest.raises(InputError, match=r"none of 1 files .*\(1.txt: empty\)"):
        books.check_all({"1.txt": files["1.txt"]})


def test_warns_of_a_file_with_several_books(tmp_path, caplog):
    book = "*** {} OF THE PROJECT GUTENBERG EBOOK A ***\nOnce.\n"
    for count in (1, 3):
        path = tmp_path / f"{count}.txt"
        path.write_text((book.format("START") + book.format("END")) * count)
        books.check(path)
    assert "3.txt: of 3 books in this file, only the first" in caplog.text
    assert "1.txt" not in caplog.text


def test_finds_books(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        books.find_books([tmp_path / "nowhere"])
    # The last one is of a vocabulary made from these books.
    for name in ("c.md", ".hidden.txt", ".venv/d.txt", "merges.txt"):
        data_files.write(tmp_path / "in", name, "text")
    with pytest.raises(InputError, match="holds no .txt"):
        books.find_books([tmp_path])
    for name in ("b.txt", "deep/a.TXT"):
        data_files.write(tmp_path / "in", name, "text")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "in" / "b.txt")
    found = books.find_books([tmp_path / "in"])
    assert list(found) == ["b.txt", "deep/a.TXT"]
    assert list(books.find_books([tmp_path / "in" / "c.md"])) == ["c.md"]
    for again in ("in/b.txt", "in/deep"):  # A book is counted once.
        assert books.find_books([tmp_path / "in", tmp_path / again]) == found
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "more").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "deep" / "circle").symlink_to(tmp_path / "in")
    names = ["more/b.txt", "more/deep/a.TXT"]
    assert list(books.find_books([tmp_path / "linked"])) == names
    data_files.write(tmp_path / "two", "b.txt", "other")
    with pytest.raises(InputError, match="same name"):
        books.find_books([tmp_path / "in", tmp_path / "two"])
    # Of a name that is not UTF-8, the other bytes are read.
    path = tmp_path / "two" / os.fsdecode(b"caf\xe9.txt")
    path.write_text("text")
    found = books.find_books([tmp_path / "two"])
    assert found["caf\ufffd.txt"] == path
    assert len(books.check_all(found)[0]) == 2


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("piece_bytes", [300, 1000, 5000, 10**6])
def test_pieces_join_to_the_whole(tmp_path, ending, piece_bytes):
    sentences = "It was a é bright cold day, and the old man walked home. " * 6
    blocks = [textwrap.fill(f"Day {i}: {sentences}", 72) for i in range(20)]
    blocks[18:18] = ["*** END OF THE PROJECT GUTENBERG EBOOK DAYS ***"]
    text = "\n\n".join(blocks) + "\n"
    path = tmp_path / "book.txt"
    path.write_bytes(("\ufeff" + text).replace("\n", ending).encode("utf-8"))
    pieces = books.cut(path, piece_bytes)
    assert (len(pieces) == 1) == (piece_bytes == 10**6)
    joined = [p for piece in pieces for p in books.read_piece(piece)]
    (whole,) = books.cut(path)
    assert joined == list(books.read_piece(whole))
    assert len(joined) == 18 and joined[17].startswith("Day 17: It was a é")
