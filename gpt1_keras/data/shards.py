"""A prepared corpus on disk: token ids of whole books in memory-mapped shards.

A prepared folder holds

    index.json          books, shards, hashes, skipped files, totals
    shard_00000.bin ... ids, little-endian, one book after the other
    tokenizer/          the tokenizer that made the ids

Every shard but the last has `shard_tokens` ids, so the position of a book in
the corpus gives its shard; long books continue in the next shard.
"""

import dataclasses
import functools
import pathlib

import numpy as np

from gpt1_keras import files
from gpt1_keras.data import batches
from gpt1_keras.errors import InputError
from gpt1_keras.text import subwords

FORMAT = 1
INDEX = "index.json"
TOKENIZER = "tokenizer"
# Without an index, the repeated command prepares the folder again.
_REMEDY = f"remove its {INDEX} and prepare the books again"


def token_dtype(vocabulary_size):
    """Return the smallest dtype that holds every id: that of the files."""
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
        """Open a prepared folder; raise InputError if it is damaged."""
        directory = pathlib.Path(directory)
        path = directory / INDEX
        try:
            index = files.parse_json(path.read_bytes())
            sizes = _checked_shard_sizes(index)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path} cannot be read ({error}): {_REMEDY}"
            ) from error
        item_bytes = token_dtype(index["vocabulary_size"]).itemsize
        for number, (tokens, shard) in enumerate(zip(sizes, index["shards"])):
            path, size = directory / shard_name(number), tokens * item_bytes
            if not path.is_file() or path.stat().st_size != size:
                raise InputError(
                    f"{path} is missing or does not have {size} bytes:"
                    f" {_REMEDY}"
                )
            if files.sha256(path) != shard["sha256"]:
                raise InputError(f"{path}: checksum mismatch: {_REMEDY}")
        return cls(directory, index)

    def summary(self):
        total = self.index["total"]
        books = "1 book" if total["books"] == 1 else f"{total['books']:,} books"
        return (
            f"{books} ({total['held_out_books']:,} held out),"
            f" {total['tokens']:,} tokens, {total['skipped']:,} files skipped"
        )

    def sha256(self):
        """Return a digest of all tokens."""
        return files.sha256_of_json([x["sha256"] for x in self.index["shards"]])

    def split(self, name):
        """Return the books of "train", "held_out" or "all" as a `Split`."""
        return Split(self.directory, self.index, name)

    def training_batches(self, **options):
        return batches.TrainingBatches(self.split("train"), **options)


class Split:
    """The books of one split; N is their number.

    Attributes:
        names: list of N str.
        lengths: int64 `[N]`, tokens of each book.
        words: int64 `[N]`, whitespace-separated words of its clean text.
        bytes: int64 `[N]`, size of its clean text in UTF-8.
    """

    def __init__(self, directory, index, name):
        books, self._places, place = [], [], 0
        for book in index["books"]:
            if name in ("all", book["split"]):
                books.append(book)
                self._places.append(place)
            place += book["tokens"]
        self.names = [book["name"] for book in books]
        self.lengths = np.array([b["tokens"] for b in books], np.int64)
        self.words = np.array([b["words"] for b in books], np.int64)
        self.bytes = np.array([b["bytes"] for b in books], np.int64)
        self._shard_tokens = index["shard_tokens"]
        dtype = token_dtype(index["vocabulary_size"])
        self._shard = functools.cache(
            lambda number: np.asarray(
                np.memmap(directory / shard_name(number), dtype, mode="r")
            )
        )

    def read(self, book, start, end):
        """Return tokens `start` to `end` of a book, or to its end, int32."""
        end = min(int(end), int(self.lengths[book]))
        ids = np.empty(max(end - int(start), 0), np.int32)
        place, done = self._places[book] + int(start), 0
        while done < len(ids):
            number, inside = divmod(place + done, self._shard_tokens)
            count = min(len(ids) - done, self._shard_tokens - inside)
            shard = self._shard(number)
            ids[done : done + count] = shard[inside : inside + count]
            done += count
        return ids


def _checked_shard_sizes(index):
    """Return the number of ids in each shard, computed from the books.

    Raises ValueError unless the index has what other code relies on.
    """
    if index.get("format") != FORMAT:
        raise ValueError(f"its format is {index.get('format')}, not {FORMAT}")
    kinds = {"vocabulary_size": int, "shard_tokens": int, "tokenizer": dict}
    kinds |= {"total": dict, "shards": list, "books": list, "skipped": list}
    files.check_kinds(index, kinds)
    files.check_kinds(index["tokenizer"], {"sha256": str})
    totals = ("books", "tokens", "held_out_books", "skipped")
    files.check_kinds(index["total"], dict.fromkeys(totals, int))
    kinds = dict(name=str, split=str, tokens=int, words=int, bytes=int)
    for book in index["books"]:
        files.check_kinds(book, kinds)
        if book["split"] not in ("train", "held_out"):
            raise ValueError(f"a book of split {book['split']!r}")
    for shard in index["shards"]:
        files.check_kinds(shard, {"sha256": str})
    tokens = sum(book["tokens"] for book in index["books"])
    places = range(0, tokens, index["shard_tokens"])
    if len(places) != len(index["shards"]):
        raise ValueError("its token counts disagree")
    return [min(index["shard_tokens"], tokens - place) for place in places]


def write(directory, pieces, shard_tokens):
    """Write ids to the shards of a folder; replace those of a killed run.

    `pieces` are (little-endian ids `[n]`, words, bytes). Returns the shards'
    index entries, and (tokens, unknown tokens, words, bytes) of each piece.
    """
    for path in directory.glob("shard_*.bin"):
        path.unlink()
    counts, sizes = [], []
    for ids, words, size in pieces:
        unknown = np.count_nonzero(ids == subwords.UNKNOWN_ID)
        counts.append((len(ids), unknown, words, size))
        while len(ids):
            if not sizes or sizes[-1] == shard_tokens:
                sizes.append(0)
            part, ids = np.split(ids, [shard_tokens - sizes[-1]])
            path = directory / shard_name(len(sizes) - 1)
            with files.named(path), open(path, "ab") as file:
                file.write(part.tobytes())
            sizes[-1] += len(part)
    entries = []
    for number, size in enumerate(sizes):
        path = directory / shard_name(number)
        files.sync(path)
        sha256 = files.sha256(path)
        entries.append({"file": path.name, "tokens": size, "sha256": sha256})
    return entries, counts
