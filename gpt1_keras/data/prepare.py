"""The work of `prepare` in one folder: ids, split, index."""

import hashlib
import json
import os
import pathlib
import shutil

import numpy as np
from absl import logging

from gpt1_keras import console
from gpt1_keras import files
from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError
from gpt1_keras.text import tokenizer as tokenizer_lib
from gpt1_keras.text import train_vocabulary

# -----------------------------------------------------------------------------
# Which books are held out of training, and whether they really are new.

# About ten words; novels share hardly any sequence of this length.
_SHINGLE_TOKENS = 12
_MAX_SHINGLES = 1 << 22
_BLOCK_TOKENS = 1 << 20
_FACTOR = 0x9E3779B97F4A7C15


def choose_held_out(names, *, fraction, seed):
    """Choose the held-out books by their names.

    Args:
        names: iterable of str.
        fraction: float in [0, 1), share of the books. Above 0 at least one
            book is held out, and one is always left for training.
        seed: int.

    Returns:
        list of str, in the (random) order of choice.
    """
    if not 0 <= fraction < 1:
        raise InputError(
            f"HELD_OUT_FRACTION is {fraction}: give a share from 0 up to 1"
        )
    ordered = sorted(names, key=lambda name: _rank(seed, name))
    if fraction == 0:
        return []
    count = max(1, round(fraction * len(ordered)))
    return ordered[: min(count, len(ordered) - 1)] if ordered else []


def keep_new_books(chosen, names, read, *, limit):
    """Drop held-out books that share text with the training books.

    Books with more than `limit` overlap go back to training, and the rest is
    compared with these too. The one with the least overlap always stays.

    Args:
        chosen: list of str, held-out books.
        names: list of str, all books.
        read: function of a name; yields the book's ids in integer arrays.
        limit: float, share of a book's sequences of 12 tokens that may
            stand in training books too.

    Returns:
        (overlap of the held-out books, overlap of those put back): dicts
        from name to float in [0, 1].
    """
    known = _Shingles(chosen, read)
    for name in sorted(set(names) - set(chosen)):
        known.mark(read(name))
    held, moved = list(chosen), {}
    while held:
        overlap = {name: known.overlap(name) for name in held}
        new = [name for name in held if overlap[name] <= limit]
        new = new or [min(held, key=overlap.get)]
        if new == held:
            return overlap, moved
        for name in [name for name in held if name not in new]:
            moved[name] = overlap[name]
            known.mark(read(name))
        held = new
    return {}, moved


class _Shingles:
    """Hashes of the sequences of 12 tokens in the held-out books."""

    def __init__(self, names, read):
        tokens = {name: sum(map(len, read(name))) for name in names}
        self._modulus = np.uint64(
            2 ** max(0, int(sum(tokens.values()) // _MAX_SHINGLES).bit_length())
        )
        hashes = {name: self._hashes(read(name)) for name in names}
        self._sorted = np.unique(
            np.concatenate([*hashes.values(), np.empty(0, np.uint64)])
        )
        self._places = {
            name: np.searchsorted(self._sorted, values)
            for name, values in hashes.items()
        }
        self._is_found = np.zeros(len(self._sorted), bool)

    def mark(self, blocks):
        if not len(self._sorted):
            return
        for block in _overlapping(blocks):
            hashes = self._sample(block)
            places = np.searchsorted(self._sorted, hashes)
            places = np.minimum(places, len(self._sorted) - 1)
            self._is_found[places[self._sorted[places] == hashes]] = True

    def overlap(self, name):
        places = self._places[name]
        return float(self._is_found[places].mean()) if len(places) else 0.0

    def _hashes(self, blocks):
        parts = [self._sample(block) for block in _overlapping(blocks)]
        return np.unique(np.concatenate([*parts, np.empty(0, np.uint64)]))

    def _sample(self, block):
        hashes = _shingle_hashes(block)
        # The high bits are the well mixed ones of a product.
        return hashes[(hashes >> np.uint64(40)) % self._modulus == 0]


def _shingle_hashes(ids):
    """Polynomial hashes of the 12-token sequences in int `[n]`: `[n - 11]`."""
    if len(ids) < _SHINGLE_TOKENS:
        return np.empty(0, np.uint64)
    factor, square, fourth = (
        np.uint64(pow(_FACTOR, power, 1 << 64)) for power in (1, 2, 4)
    )
    one = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
    one ^= one >> np.uint64(31)
    two = one[:-1] * factor + one[1:]
    four = two[:-2] * square + two[2:]
    eight = four[:-4] * fourth + four[4:]
    return eight[:-4] * fourth + four[8:]


def _overlapping(blocks):
    """Join blocks such that no sequence is lost at their borders."""
    rest = np.empty(0, np.int64)
    for block in blocks:
        rest = np.concatenate([rest, block])
        while len(rest) >= _BLOCK_TOKENS:
            yield rest[:_BLOCK_TOKENS]
            rest = rest[_BLOCK_TOKENS - _SHINGLE_TOKENS + 1 :]
    yield rest


def _rank(seed, name):
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8")).hexdigest()


# -----------------------------------------------------------------------------
# The tokenizer of a prepared corpus: its copy there, and its training.

_IDENTITY = "identity.json"
_TRAINERS = {
    "bpe": train_vocabulary.train_bpe,
    "wordpiece": train_vocabulary.train_wordpiece,
}


def save_tokenizer(tokenizer, directory, *, training_sha256=None):
    """Write `directory`/tokenizer, unless it is there; it is whole or absent.

    Args:
        tokenizer: Tokenizer.
        directory: pathlib.Path of a prepared folder.
        training_sha256: str or None, identity of what it was trained on.
    """
    folder = directory / shards.TOKENIZER
    if _identity(folder).get("sha256") == tokenizer.sha256:
        return
    temporary = directory / f".{shards.TOKENIZER}.tmp"
    for old in (temporary, folder):
        if old.exists():
            shutil.rmtree(old)
    temporary.mkdir()
    tokenizer.save(temporary)
    identity = {"sha256": tokenizer.sha256, "training_sha256": training_sha256}
    files.write_atomic(temporary / _IDENTITY, json.dumps(identity) + "\n")
    os.replace(temporary, folder)
    files.sync(directory)


def load_tokenizer(directory, *, sha256):
    """Return the tokenizer of a prepared folder.

    Raises:
        InputError: it is not the one with hash `sha256`.
    """
    folder = directory / shards.TOKENIZER
    tokenizer = tokenizer_lib.Tokenizer.from_directory(folder)
    if tokenizer.sha256 != sha256:
        raise InputError(
            f"{folder} is not the tokenizer the shards were made with: "
            "prepare the books again"
        )
    return tokenizer


def check_tokenizer(tokenizer_type):
    """Raise InputError where `tokenizer_type` cannot be trained."""
    if tokenizer_type not in _TRAINERS:
        raise InputError(
            f"TOKENIZER_TYPE is {tokenizer_type!r}: give one of "
            f"{', '.join(_TRAINERS)}"
        )


def train_tokenizer(
    scan,
    directory,
    *,
    tokenizer_type,
    vocabulary_size,
    held_out_fraction,
    seed,
):
    """Train a tokenizer on the training books and save it in `directory`.

    A run that was stopped later finds it there and does not train again.

    Args:
        scan: scanning.Scan.
        directory: pathlib.Path of the folder being prepared.
        tokenizer_type: "bpe" or "wordpiece".
        vocabulary_size: int.
        held_out_fraction: float, as for `prepare.choose_held_out`.
        seed: int, as for `prepare.choose_held_out`.

    Returns:
        Tokenizer.
    """
    kept_out = choose_held_out(
        scan.names, fraction=held_out_fraction, seed=seed
    )
    sources = [s for s in scan.sources if s.name not in set(kept_out)]
    wanted = [tokenizer_type, vocabulary_size, [s.sha256 for s in sources]]
    training_sha256 = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
    folder = directory / shards.TOKENIZER
    if _identity(folder).get("training_sha256") == training_sha256:
        return tokenizer_lib.Tokenizer.from_directory(folder)
    logging.info(
        "training a %s tokenizer on %d books", tokenizer_type, len(sources)
    )
    tokenizer = _TRAINERS[tokenizer_type](
        encode.texts(sources), vocabulary_size=vocabulary_size
    )
    save_tokenizer(tokenizer, directory, training_sha256=training_sha256)
    return tokenizer


def _identity(folder):
    try:
        return json.loads((folder / _IDENTITY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}


# -----------------------------------------------------------------------------
# The work of `prepare` in one folder: ids, split, index.

SHARD_TOKENS = 1 << 27
PIECE_BYTES = 16 << 20
OVERLAP_LIMIT = 0.05
_BYTES_WORTH_PROCESSES = 8 << 20


class Preparation:
    """Fills one folder; the caller holds the folder's lock.

    Args: as those of `corpus.prepare`, with `scan` (scanning.Scan) for the
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
        save_tokenizer(self._tokenizer, self._directory)
        with shards.ShardWriter(
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
        with console.bar("tokenising books", total, done=before) as advance:
            for (ids, words), (source, piece) in zip(
                encoded, left, strict=True
            ):
                writer.append(ids, book=source.name, words=words)
                advance(piece.end - piece.start)

    def _encode_here(self, tasks, tokenizer, dtype):
        return encode.encode_pieces(
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
        chosen = choose_held_out(
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
        kept, moved = keep_new_books(
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
