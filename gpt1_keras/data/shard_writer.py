"""Appending books to shards such that a killed run continues exactly.

A journal holds one line for every piece whose ids are safely in the shards.
After a kill the shards are cut back to what the journal says.
"""

import json
import os

import numpy as np

from gpt1_keras import files
from gpt1_keras.data import shards

JOURNAL = "journal.jsonl"


class ShardWriter:
    """Writes ids to the shards of a folder; a context manager.

    Args:
        directory: pathlib.Path of the folder.
        dtype: "uint16" or "uint32".
        shard_tokens: int, ids of a full shard.
        request: str, identity of what is written; a journal of another
            request is thrown away with its shards.

    Attributes:
        records: list of dicts, the pieces written so far, in order.
        tokens: int, ids written so far.
    """

    def __init__(self, directory, *, dtype, shard_tokens, request):
        self._directory = directory
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._shard_tokens = shard_tokens
        self._journal_path = directory / JOURNAL
        self.records = self._recover(request)
        self.tokens = sum(record["tokens"] for record in self.records)
        if not self.records:
            self._journal_path.write_bytes(_line({"request": request}))
        self._cut_back()
        self._journal = open(self._journal_path, "ab")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._journal.close()

    def append(self, ids, **record):
        """Append the ids of one piece; on return they are on the disk.

        Args:
            ids: integer array `[n]`.
            **record: what the journal is to say about the piece.
        """
        ids = np.ascontiguousarray(ids, self._dtype)
        done = 0
        while done < len(ids):
            number, inside = divmod(self.tokens + done, self._shard_tokens)
            part = ids[done : done + self._shard_tokens - inside]
            with open(self._path(number), "ab") as file:
                file.write(part.tobytes())
                file.flush()
                os.fsync(file.fileno())
            done += len(part)
        record["tokens"] = len(ids)
        self._journal.write(_line(record))
        self._journal.flush()
        os.fsync(self._journal.fileno())
        self.records.append(record)
        self.tokens += len(ids)

    def finish(self):
        """Return the shards as dicts of file, tokens and sha256."""
        finished = []
        for number in range(self._num_shards()):
            start = number * self._shard_tokens
            finished.append(
                {
                    "file": shards.shard_name(number),
                    "tokens": min(self.tokens - start, self._shard_tokens),
                    "sha256": files.sha256(self._path(number)),
                }
            )
        return finished

    def remove_journal(self):
        """Call when the index stands: nothing is left to continue."""
        self._journal_path.unlink()

    def _path(self, number):
        return self._directory / shards.shard_name(number)

    def _num_shards(self):
        return -(-self.tokens // self._shard_tokens)

    def _recover(self, request):
        """Return the journal's records; cut off a line half written."""
        if not self._journal_path.exists():
            return []
        records, valid = [], 0
        for line in self._journal_path.read_bytes().splitlines(keepends=True):
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if record is None:
                break
            records.append(record)
            valid += len(line)
        os.truncate(self._journal_path, valid)
        if not records or records[0] != {"request": request}:
            return []
        return records[1:] if self._holds(records[1:]) else []

    def _holds(self, records):
        """Whether the shards have at least the ids of `records`."""
        tokens = sum(record["tokens"] for record in records)
        for number in range(-(-tokens // self._shard_tokens)):
            path = self._path(number)
            expected = min(
                tokens - number * self._shard_tokens, self._shard_tokens
            )
            size = path.stat().st_size if path.exists() else 0
            if size < expected * self._dtype.itemsize:
                return False
        return True

    def _cut_back(self):
        for path in self._directory.glob("shard_*.bin"):
            number = int(path.stem.removeprefix("shard_"))
            kept = min(
                max(self.tokens - number * self._shard_tokens, 0),
                self._shard_tokens,
            )
            if kept:
                os.truncate(path, kept * self._dtype.itemsize)
            else:
                path.unlink()


def _line(record):
    return json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n"
