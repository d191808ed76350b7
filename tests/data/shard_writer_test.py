import numpy as np
import pytest

from gpt1_keras.data import shards

PIECES = [[1, 2, 3], [], [4, 5, 6, 7, 8, 9], [10]]


def writer(directory, request="r"):
    return shards.ShardWriter(
        directory, dtype="uint16", shard_tokens=4, request=request
    )


def contents(directory):
    files = (path for path in directory.iterdir() if path.is_file())
    return {path.name: path.read_bytes() for path in files}


def append(target, pieces):
    for number, ids in enumerate(pieces):
        target.append(np.array(ids, np.int64), number=number)


@pytest.fixture
def whole(tmp_path):
    folder = tmp_path / "whole"
    folder.mkdir()
    with writer(folder) as target:
        append(target, PIECES)
    return contents(folder)


@pytest.mark.parametrize("done", range(len(PIECES) + 1))
def test_goes_on_after_a_kill(tmp_path, whole, done):
    """Whatever half of the next piece reached the disk is forgotten."""
    with writer(tmp_path) as target:
        append(target, PIECES[:done])
    with open(tmp_path / "journal.jsonl", "ab") as journal:
        journal.write(b'{"number": 77, "tok')
    last = max(
        tmp_path.glob("shard_*.bin"), default=tmp_path / "shard_00000.bin"
    )
    with open(last, "ab") as shard:
        shard.write(b"half a")
    (tmp_path / "shard_00009.bin").write_bytes(b"later")
    with writer(tmp_path) as again:
        assert [r["tokens"] for r in again.records] == [
            len(p) for p in PIECES[:done]
        ]
        for number in range(done, len(PIECES)):
            again.append(np.array(PIECES[number], np.int64), number=number)
    assert contents(tmp_path) == whole


def test_another_request_starts_anew(tmp_path, whole):
    with writer(tmp_path, "old") as old:
        append(old, [[9] * 30])
    with writer(tmp_path) as again:
        assert again.records == [] and again.tokens == 0
        append(again, PIECES)
    assert contents(tmp_path) == whole


def test_lost_shard_starts_anew(tmp_path):
    with writer(tmp_path) as target:
        append(target, PIECES)
    (tmp_path / "shard_00001.bin").write_bytes(b"")
    with writer(tmp_path) as again:
        assert again.records == []


def test_finish_hashes_every_shard(tmp_path):
    with writer(tmp_path) as target:
        append(target, PIECES)
        finished = target.finish()
        target.remove_journal()
    assert [shard["tokens"] for shard in finished] == [4, 4, 2]
    assert not (tmp_path / "journal.jsonl").exists()
