"""The work of `prepare` in one folder: ids, split, index."""

import hashlib
import json
import os
import pathlib

import numpy as np
from absl import logging

from gpt1_keras import files
from gpt1_keras import progress
from gpt1_keras.data import books
from gpt1_keras.data import corpus_tokenizer
from gpt1_keras.data import encoding
from gpt1_keras.data import held_out
from gpt1_keras.data import shard_writer
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError

SHARD_TOKENS = 1 << 27
PIECE_BYTES = 16 << 20
OVERLAP_LIMIT = 0.05
_BYTES_WORTH_PROCESSES = 8 << 20


class Preparation:
    """Fills one folder; the caller holds the folder's lock.

    Args: as those of `prepare.prepare`, with `scan` (scanning.Scan) for the
        files.
    """

    def __init__(
        self,
        scan,
        tokenizer,
        directory,
        *,
        held_out_fraction,
        seed,
        num_processes=None,
        shard_tokens=SHARD_TOKENS,
        piece_bytes=PIECE_BYTES,
        encode_pieces=None,
    ):
        self._scan = scan
        self._tokenizer = tokenizer
        self._directory = pathlib.Path(directory)
        self._held_out_fraction = held_out_fraction
        self._seed = seed
        self._num_processes = num_processes
        self._shard_tokens = shard_tokens
        self._piece_bytes = piece_bytes
        self._encode_pieces = encode_pieces or self._encode_here
        self._dtype = shards.token_dtype(tokenizer.vocabulary_size)
        self._request = self._identity()

    def run(self):
        """Return the Shards, prepared now or before."""
        if shards.is_prepared(self._directory):
            return self._open_same()
        corpus_tokenizer.save(self._tokenizer, self._directory)
        with shard_writer.ShardWriter(
            self._directory,
            dtype=self._dtype,
            shard_tokens=self._shard_tokens,
            request=self._request,
        ) as writer:
            self._encode(writer)
            index = self._index(writer.records, writer.finish())
            text = json.dumps(index, indent=1, ensure_ascii=False)
            files.write_atomic(self._directory / shards.INDEX, text + "\n")
            writer.remove_journal()
        return shards.Shards(self._directory, index)

    def _identity(self):
        identity = [
            shards.FORMAT,
            self._tokenizer.sha256,
            self._held_out_fraction,
            self._seed,
            self._shard_tokens,
            self._piece_bytes,
            [(s.name, s.sha256) for s in self._scan.sources],
        ]
        text = json.dumps(identity, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def _open_same(self):
        prepared = shards.Shards.open(self._directory)
        if prepared.index["request"] != self._request:
            raise InputError(
                f"{self._directory} holds a corpus prepared from other books "
                "or with other settings: choose another folder"
            )
        logging.info("%s was prepared before", self._directory)
        return prepared

    def _encode(self, writer):
        """Bring the ids of all books into the shards."""
        tasks = [
            (source, piece)
            for source in self._scan.sources
            for piece in books.cut(source.path, self._piece_bytes)
        ]
        total = sum(piece.end - piece.start for _, piece in tasks)
        done, left = tasks[: len(writer.records)], tasks[len(writer.records) :]
        encoded = self._encode_pieces(left, self._tokenizer, self._dtype)
        before = sum(piece.end - piece.start for _, piece in done)
        with progress.bar("tokenising books", total, done=before) as advance:
            for (ids, words), (source, piece) in zip(
                encoded, left, strict=True
            ):
                writer.append(ids, book=source.name, words=words)
                advance(piece.end - piece.start)

    def _encode_here(self, tasks, tokenizer, dtype):
        return encoding.encode_pieces(
            tasks, tokenizer, dtype, num_processes=self._processes(tasks)
        )

    def _processes(self, tasks):
        if self._num_processes is not None:
            return self._num_processes
        if sum(p.end - p.start for _, p in tasks) < _BYTES_WORTH_PROCESSES:
            return 1
        return max(1, min(len(os.sched_getaffinity(0)), len(tasks)))

    def _index(self, records, stored):
        found, skipped = self._books(records)
        self._split(found, stored)
        total = {
            "books": len(found),
            "skipped": len(skipped),
            "tokens": sum(book["tokens"] for book in found),
            "words": sum(book["words"] for book in found),
        }
        for split in ("train", "held_out"):
            of_split = [book for book in found if book["split"] == split]
            total[f"{split}_books"] = len(of_split)
            total[f"{split}_tokens"] = sum(b["tokens"] for b in of_split)
        return {
            "format": shards.FORMAT,
            "request": self._request,
            "vocabulary_size": self._tokenizer.vocabulary_size,
            "dtype": self._dtype,
            "tokenizer": {
                "type": self._tokenizer.type,
                "sha256": self._tokenizer.sha256,
            },
            "held_out_fraction": self._held_out_fraction,
            "seed": self._seed,
            "total": total,
            "shard_tokens": self._shard_tokens,
            "shards": stored,
            "skipped": skipped,
            "books": found,
        }

    def _books(self, records):
        """Return (books without their split, skipped files)."""
        hashes = {source.name: source.sha256 for source in self._scan.sources}
        sums = {name: [0, 0] for name in hashes}
        for record in records:
            sums[record["book"]][0] += record["tokens"]
            sums[record["book"]][1] += record["words"]
        found, skipped, place = [], list(self._scan.skipped), 0
        for name, (tokens, words) in sums.items():
            if not tokens:
                logging.warning("skipped %s: no text in it", name)
                skipped.append({"name": name, "reason": "no text in it"})
                continue
            shard, offset = divmod(place, self._shard_tokens)
            found.append(
                {
                    "name": name,
                    "sha256": hashes[name],
                    "split": "train",
                    "shard": shard,
                    "offset": offset,
                    "tokens": tokens,
                    "words": words,
                }
            )
            place += tokens
        if not found:
            raise InputError(f"no text in any of {len(skipped)} files")
        return found, sorted(skipped, key=lambda entry: entry["name"])

    def _split(self, found, stored):
        """Set "split" and "overlap" of the books."""
        names = [book["name"] for book in found]
        chosen = held_out.choose(
            names, fraction=self._held_out_fraction, seed=self._seed
        )
        everything = shards.Split(
            self._directory,
            {
                "shard_tokens": self._shard_tokens,
                "dtype": self._dtype,
                "shards": stored,
            },
            found,
        )
        number = {name: i for i, name in enumerate(names)}
        kept, moved = held_out.keep_new(
            chosen,
            names,
            lambda name: _blocks(everything, number[name]),
            limit=OVERLAP_LIMIT,
        )
        for name, overlap in moved.items():
            logging.warning(
                "%s is not held out: %.0f %% of it stands in other books",
                name,
                100 * overlap,
            )
        for book in found:
            if book["name"] in kept:
                book["split"] = "held_out"
                book["overlap"] = round(kept[book["name"]], 6)
            elif book["name"] in moved:
                book["overlap"] = round(moved[book["name"]], 6)


def _blocks(split, book, *, tokens=1 << 20):
    for start in range(0, int(split.lengths[book]), tokens):
        yield np.asarray(split.read(book, start, start + tokens))
