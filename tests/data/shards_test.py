import hashlib
import json
import pickle

import numpy as np
import pytest

from gpt1_keras.data import shards
from gpt1_keras.errors import InputError

BOOKS = {"a": [1, 2, 3, 4, 5], "b": [6], "c": list(range(7, 20))}


def write(directory, *, shard_tokens=4, dtype="uint16"):
    entries, place = [], 0
    with shards.ShardWriter(
        directory, dtype=dtype, shard_tokens=shard_tokens, request="r"
    ) as writer:
        for name, ids in BOOKS.items():
            writer.append(np.array(ids), book=name)
        finished = writer.finish()
        writer.remove_journal()
    for name, ids in BOOKS.items():
        entries.append(
            {
                "name": name,
                "split": "held_out" if name == "b" else "train",
                "shard": place // shard_tokens,
                "offset": place % shard_tokens,
                "tokens": len(ids),
                "words": 2 * len(ids),
            }
        )
        place += len(ids)
    index = {
        "format": shards.FORMAT,
        "vocabulary_size": 20,
        "dtype": dtype,
        "tokenizer": {"type": "bpe", "sha256": "f" * 64},
        "shard_tokens": shard_tokens,
        "shards": finished,
        "total": {"tokens": place},
        "books": entries,
        "skipped": [],
    }
    (directory / "index.json").write_text(json.dumps(index))
    return index


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
@pytest.mark.parametrize("shard_tokens", [1, 4, 5, 100])
def test_reads_what_was_written(tmp_path, shard_tokens, dtype):
    write(tmp_path, shard_tokens=shard_tokens, dtype=dtype)
    opened = shards.Shards.open(tmp_path, tokenizer_sha256="f" * 64)
    train = opened.split("train")
    assert train.names == ["a", "c"]
    assert train.lengths.tolist() == [5, 13] and train.words.tolist() == [
        10,
        26,
    ]
    assert opened.split("held_out").names == ["b"]
    ids = train.gather(np.array([1, 0, 1]), np.array([0, 2, 10]), 3)
    assert ids.dtype == np.int32
    assert ids.tolist() == [[7, 8, 9], [3, 4, 5], [17, 18, 19]]
    assert train.read(0, 3, 99).tolist() == [4, 5]
    assert pickle.loads(pickle.dumps(train)).read(1, 0, 2).tolist() == [7, 8]


def test_bytes_are_little_endian_and_shards_full(tmp_path):
    index = write(tmp_path, shard_tokens=8)
    assert [shard["tokens"] for shard in index["shards"]] == [8, 8, 3]
    content = (tmp_path / "shard_00000.bin").read_bytes()
    assert content[:4] == b"\x01\x00\x02\x00"
    assert index["shards"][0]["sha256"] == hashlib.sha256(content).hexdigest()


def test_dtype_by_vocabulary():
    assert shards.token_dtype(40_478) == "uint16"
    assert shards.token_dtype(65_536) == "uint16"
    assert shards.token_dtype(65_537) == "uint32"


def test_windows_stay_inside_their_book(tmp_path):
    write(tmp_path)
    train = shards.Shards.open(tmp_path).split("train")
    for start in (-1, 3):
        with pytest.raises(ValueError, match="border"):
            train.gather(np.array([0]), np.array([start]), 3)


def spoil_bit(directory):
    path = directory / "shard_00001.bin"
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)


def spoil_total(directory):
    index = json.loads((directory / "index.json").read_text())
    index["books"][0]["tokens"] += 1
    (directory / "index.json").write_text(json.dumps(index))


SPOILERS = {
    "its sha256 is not": spoil_bit,
    "bytes instead of": lambda d: (d / "shard_00001.bin").write_bytes(b"12"),
    "is missing": lambda d: (d / "shard_00004.bin").unlink(),
    "is damaged": lambda d: (d / "index.json").write_text('{"format": 1'),
    "disagree": spoil_total,
    "has format 0": lambda d: (d / "index.json").write_text('{"format": 0}'),
    "holds no index.json": lambda d: (d / "index.json").unlink(),
}


@pytest.mark.parametrize("message", SPOILERS)
def test_a_spoiled_folder_is_refused_in_one_line(tmp_path, message):
    write(tmp_path)
    SPOILERS[message](tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        shards.Shards.open(tmp_path)
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)


def test_another_tokenizer_is_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(InputError, match="another tokenizer"):
        shards.Shards.open(tmp_path, tokenizer_sha256="e" * 64)


def test_large_shards_are_hashed_once(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(shards, "_ALWAYS_HASHED_BYTES", 0)
    shards.Shards.open(tmp_path)
    hashed = []
    monkeypatch.setattr(
        shards.files, "sha256", lambda path: hashed.append(path) or ""
    )
    shards.Shards.open(tmp_path)
    assert hashed == []
    spoil_bit(tmp_path)
    with pytest.raises(InputError, match="its sha256"):
        shards.Shards.open(tmp_path)
    assert len(hashed) == 1
