import json

import pytest

from gpt1_keras.data import encode as encode_lib
from gpt1_keras.data import prepare as prepare_lib
from gpt1_keras.errors import InputError
from tests.reference import letter_tokenizer


def prepare(tmp_path, contents, vocabulary_size=128, **settings):
    files = {}
    for name, text in contents.items():
        files[name] = tmp_path / name
        files[name].write_text(text)
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    return prepare_lib.Preparation(
        encode_lib.scan(files),
        letter_tokenizer.LetterTokenizer(vocabulary_size),
        out,
        **{"held_out_fraction": 0.0, "seed": 0, "shard_tokens": 4, **settings},
    ).run()


def test_index_by_hand(tmp_path):
    prepare(tmp_path, {"a": "abc de\nf\n", "b": "gh\n", "c": "ééé\n"})
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    assert index["total"] == {
        "books": 2,
        "skipped": 1,
        "tokens": 9,
        "words": 4,
        "train_books": 2,
        "train_tokens": 9,
        "held_out_books": 0,
        "held_out_tokens": 0,
    }
    places = [
        (b["name"], b["shard"], b["offset"], b["tokens"])
        for b in index["books"]
    ]
    assert places == [("a", 0, 0, 7), ("b", 1, 3, 2)]
    assert [shard["tokens"] for shard in index["shards"]] == [4, 4, 1]
    assert index["skipped"] == [{"name": "c", "reason": "no text in it"}]
    assert (index["vocabulary_size"], index["dtype"]) == (128, "uint16")
    shard = (tmp_path / "out" / "shard_00001.bin").read_bytes()
    assert shard == b"e\0\n\0f\0g\0"


def test_large_vocabularies_take_four_bytes(tmp_path):
    prepare(tmp_path, {"a": "abc"}, vocabulary_size=70_000)
    assert (
        tmp_path / "out" / "shard_00000.bin"
    ).read_bytes() == b"a\0\0\0b\0\0\0c\0\0\0"


def test_nothing_left(tmp_path):
    with pytest.raises(InputError, match="no text in any of 1 files"):
        prepare(tmp_path, {"a": "ééé"})


def test_processes_follow_the_text(tmp_path, monkeypatch):
    asked = []
    encode = prepare_lib.encoding.encode_pieces

    def record(*args, num_processes):
        asked.append(num_processes)
        return encode(*args, num_processes=1)

    monkeypatch.setattr(prepare_lib.encoding, "encode_pieces", record)
    monkeypatch.setattr(prepare_lib.os, "sched_getaffinity", lambda _: range(3))
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    prepare(tmp_path / "small", {"a": "abc", "b": "d"})
    monkeypatch.setattr(prepare_lib, "_BYTES_WORTH_PROCESSES", 2)
    prepare(tmp_path / "large", {"a": "abc", "b": "d"})
    assert asked == [1, 2]
