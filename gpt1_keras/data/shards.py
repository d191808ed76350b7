"""A prepared corpus on disk: token ids of whole books in memory-mapped shards.

A prepared folder holds

    index.json          books, shards, hashes, skipped files, totals
    shard_00000.bin ... ids, little-endian, one book after the other
    tokenizer/          the tokenizer that made the ids

Every shard but the last has `shard_tokens` ids, so the position of a book in
the corpus gives its shard; long books continue in the next shard.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import pathlib

import numpy as np

from gpt1_keras import files
from gpt1_keras.data import batches
from gpt1_keras.errors import InputError

FORMAT = 1
INDEX = "index.json"
TOKENIZER = "tokenizer"
_VERIFIED = ".verified.json"
_ALWAYS_HASHED_BYTES = 512 << 20
# A folder without an index is prepared by the command that is repeated.
_REMEDY = f"remove its {INDEX} and prepare the books again"


def token_dtype(vocabulary_size):
    """Return the smallest dtype that holds every id, as files store it."""
    return np.dtype("<u2" if vocabulary_size <= 1 << 16 else "<u4")


def shard_name(number):
    return f"shard_{number:05d}.bin"


def is_prepared(directory):
    """Return whether `directory` holds a complete prepared corpus."""
    return (pathlib.Path(directory) / INDEX).is_file()


@dataclasses.dataclass
class Shards:
    """A prepared corpus, opened with `Shards.open`."""

    directory: pathlib.Path
    index: dict  # the content of `index.json`

    @classmethod
    def open(cls, directory):
        """Open a prepared folder and verify it.

        Shards of less than 512 MiB in total are hashed on every opening,
        larger ones only if the size or time of a shard has changed since the
        last verification.

        Raises:
            InputError: the index is missing or damaged, or a shard is missing
                or changed.
        """
        directory = pathlib.Path(directory)
        index = _read_index(directory)
        _verify(directory, index)
        return cls(directory, index)

    def summary(self):
        total = self.index["total"]
        return (
            f"{total['books']:,} books, {total['tokens']:,} tokens, "
            f"{total['held_out_books']:,} books held out, "
            f"{total['skipped']:,} files skipped"
        )

    def sha256(self):
        """Return a digest of all tokens."""
        return files.sha256_of_json([x["sha256"] for x in self.index["shards"]])

    def split(self, name):
        """Return the books of "train", "held_out" or "all" as a `Split`."""
        books = [b for b in self.index["books"] if name in ("all", b["split"])]
        return Split(self.directory, self.index, books)

    def training_batches(self, **options):
        return batches.TrainingBatches(self.split("train"), **options)


class Split:
    """The books of one split; N is their number.

    Attributes:
        names: list of N str.
        lengths: int64 `[N]`, tokens of each book.
        words: int64 `[N]`, whitespace-separated words of its clean text.
        bytes: int64 `[N]`, size of its clean text in UTF-8 (before, of its
            file).
    """

    def __init__(self, directory, index, books):
        self.names = [book["name"] for book in books]
        self.lengths = np.array([b["tokens"] for b in books], np.int64)
        self.words = np.array([b["words"] for b in books], np.int64)
        self.bytes = np.array([b["bytes"] for b in books], np.int64)
        offsets = [_place(book, index) for book in books]
        self._offsets = np.array(offsets, np.int64)
        self._shard_tokens = index["shard_tokens"]
        dtype = token_dtype(index["vocabulary_size"])
        paths = [directory / shard["file"] for shard in index["shards"]]
        self._shard = functools.cache(
            lambda number: np.asarray(np.memmap(paths[number], dtype, mode="r"))
        )

    def read(self, book, start, end):
        """Return tokens `start` to `end` of one book as int32 `[end - start]`.

        An `end` beyond the end of the book is truncated.
        """
        end = min(int(end), int(self.lengths[book]))
        ids = np.empty(max(end - int(start), 0), np.int32)
        offset, done = int(self._offsets[book]) + int(start), 0
        while done < len(ids):
            number, inside = divmod(offset + done, self._shard_tokens)
            count = min(len(ids) - done, self._shard_tokens - inside)
            shard = self._shard(number)
            ids[done : done + count] = shard[inside : inside + count]
            done += count
        return ids


def _place(book, index):
    return book["shard"] * index["shard_tokens"] + book["offset"]


def _shard_sizes(tokens, shard_tokens):
    """Return the ids of each shard of a corpus of `tokens` ids."""
    full, rest = divmod(tokens, shard_tokens)
    return [shard_tokens] * full + ([rest] if rest else [])


def _read_index(directory):
    path = directory / INDEX
    if not path.is_file():
        raise InputError(
            f"{directory} holds no {INDEX}: prepare books there first"
        )
    try:
        index = files.parse_json(path.read_bytes())
        files.check_kinds(index, {"format": int})
        if index["format"] == FORMAT:
            _check_index(index)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): {_REMEDY}") from error
    if index["format"] != FORMAT:
        raise InputError(
            f"{path} has format {index['format']}, this version reads "
            f"{FORMAT}: {_REMEDY}"
        )
    return index


# Names that other code relies on -> kind of the value.
_INDEX_KINDS = {
    **{"vocabulary_size": int, "dtype": str, "tokenizer": dict},
    **{"total": dict, "shard_tokens": int, "shards": list, "books": list},
    "skipped": list,
}
_BOOK_KINDS = {
    **{"name": str, "split": str, "shard": int, "offset": int},
    **{"tokens": int, "words": int, "bytes": int},
}
_SHARD_KINDS = {"file": str, "tokens": int, "sha256": str}
_TOTALS = ("books", "tokens", "held_out_books", "skipped")


def _check_index(index):
    files.check_kinds(index, _INDEX_KINDS)
    files.check_kinds(index["tokenizer"], {"sha256": str})
    files.check_kinds(index["total"], dict.fromkeys(_TOTALS, int))
    for book in index["books"]:
        files.check_kinds(book, _BOOK_KINDS)
        if book["split"] not in ("train", "held_out"):
            raise ValueError(f"a book of split {book['split']!r}")
    for number, shard in enumerate(index["shards"]):
        files.check_kinds(shard, _SHARD_KINDS)
        if shard["file"] != shard_name(number):
            raise ValueError(f"shard {number} is {shard['file']!r}")
    if index["dtype"] != token_dtype(index["vocabulary_size"]).name:
        raise ValueError(f"its dtype is {index['dtype']!r}")
    tokens = index["total"]["tokens"]
    places = itertools.accumulate(
        (book["tokens"] for book in index["books"]), initial=0
    )
    sizes = [shard["tokens"] for shard in index["shards"]]
    if (
        index["shard_tokens"] < 1
        or len(sizes) != -(-tokens // index["shard_tokens"])
        or sizes != _shard_sizes(tokens, index["shard_tokens"])
        or list(places)
        != [*(_place(book, index) for book in index["books"]), tokens]
    ):
        raise ValueError("its token counts disagree")


def _verify(directory, index):
    states = {}
    item_bytes = token_dtype(index["vocabulary_size"]).itemsize
    for shard in index["shards"]:
        path = directory / shard["file"]
        if not path.is_file():
            raise InputError(f"{path} is missing: {_REMEDY}")
        state, size = path.stat(), shard["tokens"] * item_bytes
        if state.st_size != size:
            raise InputError(
                f"{path} has {state.st_size} bytes instead of {size}: {_REMEDY}"
            )
        states[shard["file"]] = [size, state.st_mtime_ns, shard["sha256"]]
    is_large = sum(s[0] for s in states.values()) >= _ALWAYS_HASHED_BYTES
    with contextlib.suppress(OSError, ValueError):
        verified = (directory / _VERIFIED).read_bytes()
        if is_large and files.parse_json(verified) == states:
            return
    for shard in index["shards"]:
        path = directory / shard["file"]
        if files.sha256(path) != shard["sha256"]:
            raise InputError(
                f"{path} is damaged, its sha256 is not that of {INDEX}:"
                f" {_REMEDY}"
            )
    if is_large:
        with contextlib.suppress(OSError):  # the folder may be read-only
            files.write_atomic(directory / _VERIFIED, json.dumps(states))


def write(directory, pieces, *, shard_tokens):
    """Write ids to the shards of a folder, in place of those of a killed run.

    Args:
        pieces: iterable of (little-endian ids `[n]`, words, bytes).

    Returns:
        the shards' entries in the index, and (tokens, words, bytes) of each
        piece.
    """
    for path in directory.glob("shard_*.bin"):
        path.unlink()
    counts, tokens = [], 0
    for ids, words, size in pieces:
        counts.append((len(ids), words, size))
        while len(ids):
            number, inside = divmod(tokens, shard_tokens)
            part, ids = np.split(ids, [shard_tokens - inside])
            path = directory / shard_name(number)
            with files.named(path), open(path, "ab") as file:
                file.write(part.tobytes())
            tokens += len(part)
    entries = []
    for number, size in enumerate(_shard_sizes(tokens, shard_tokens)):
        path = directory / shard_name(number)
        files.sync(path)
        sha256 = files.sha256(path)
        entries.append({"file": path.name, "tokens": size, "sha256": sha256})
    return entries, counts
