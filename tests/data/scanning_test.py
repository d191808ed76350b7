import hashlib

import pytest

from gpt1_keras.data import encode
from gpt1_keras.errors import InputError


def test_broken_files_are_skipped_with_their_reason(tmp_path):
    contents = {
        "a": b"text",
        "b": b"\0",
        "c": b"",
        "d": b"caf\xe9",
        "e": b"more",
    }
    files = {}
    for name, content in contents.items():
        files[name] = tmp_path / name
        files[name].write_bytes(content)
    scan = encode.scan(files)
    assert scan.names == ["a", "e"]
    assert [entry["name"] for entry in scan.skipped] == ["b", "c", "d"]
    assert [entry["reason"][:9] for entry in scan.skipped] == [
        "binary",
        "empty",
        "not UTF-8",
    ]
    first = scan.sources[0]
    assert first.sha256 == hashlib.sha256(b"text").hexdigest()
    assert (first.size, first.path) == (4, str(files["a"]))


def test_no_book_at_all(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"none of 1 files is a book \(a: empty\)"
    ):
        encode.scan({"a": tmp_path / "a"})
