"""Pieces of books to ids, in several processes, in order."""

import collections
import dataclasses
import multiprocessing
import os
import threading
from concurrent import futures
from multiprocessing import connection

import numpy as np
from absl import logging

from gpt1_keras import console
from gpt1_keras.data import books
from gpt1_keras.errors import InputError

# -----------------------------------------------------------------------------
# The files of a corpus, checked and hashed before anything else is done.


@dataclasses.dataclass(frozen=True)
class Source:
    """A book's file as it was checked."""

    name: str
    path: str
    size: int
    mtime_ns: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Scan:
    """All files of a corpus, read once.

    Attributes:
        sources: list of Source, the books.
        skipped: list of dicts of name and reason, the other files.
    """

    sources: list
    skipped: list

    @property
    def names(self):
        return [source.name for source in self.sources]


def scan(files):
    """Check all files and hash them.

    Args:
        files: dict from name to path.

    Returns:
        Scan.

    Raises:
        InputError: not one file is a book.
    """
    sources, skipped = [], []
    total = sum(os.path.getsize(path) for path in files.values())
    with console.bar("checking books", total) as advance:
        for name, path in files.items():
            state = os.stat(path)
            try:
                _, sha256 = books.check(path)
            except books.BrokenBook as error:
                logging.warning("skipped %s: %s", path, error)
                skipped.append({"name": name, "reason": str(error)})
            else:
                sources.append(
                    Source(
                        name,
                        str(path),
                        state.st_size,
                        state.st_mtime_ns,
                        sha256,
                    )
                )
            advance(state.st_size)
    if not sources:
        reasons = "; ".join(f"{s['name']}: {s['reason']}" for s in skipped[:3])
        raise InputError(f"none of {len(files)} files is a book ({reasons})")
    return Scan(sources, skipped)


# -----------------------------------------------------------------------------
# Pieces of books to ids, in several processes, in order.

_GROUP_CHARACTERS = 1 << 20
_in_worker = {}


def encode_piece(source, piece, tokenizer, dtype):
    """Clean and tokenise one piece of a book.

    Returns:
        (ids `[n]` of `dtype`, number of whitespace-separated words). Pieces
        after the first begin with the vocabulary's newline, if it has one, so
        that the pieces of a book join to the ids of the whole.

    Raises:
        InputError: the file has changed since it was checked.
    """
    state = os.stat(piece.path)
    if (state.st_size, state.st_mtime_ns) != (source.size, source.mtime_ns):
        raise InputError(f"{piece.path} changed while it was read: start again")
    width = books.head_width(piece.path)
    newline = [] if tokenizer.newline_id is None else [tokenizer.newline_id]
    parts, words = [], 0
    for text in _groups(books.read_piece(piece, width)):
        words += len(text.split())
        ids = tokenizer.encode(text)
        if ids and (parts or piece.start):
            parts.append(np.array(newline, dtype))
        parts.append(np.array(ids, dtype))
    return np.concatenate([*parts, np.empty(0, dtype)]), words


def encode_pieces(tasks, tokenizer, dtype, *, num_processes):
    """Yield `encode_piece` of every task, in the order of the tasks.

    At most two pieces for each process are under way, so memory does not
    grow with the corpus.

    Args:
        tasks: iterable of (scanning.Source, books.Piece).
        tokenizer: Tokenizer.
        dtype: "uint16" or "uint32".
        num_processes: int; 1 works in this process.
    """
    if num_processes == 1:
        for source, piece in tasks:
            yield encode_piece(source, piece, tokenizer, dtype)
        return
    pool = futures.ProcessPoolExecutor(
        num_processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(tokenizer, dtype),
    )
    pending = collections.deque()
    try:
        for task in tasks:
            pending.append(pool.submit(_encode_in_worker, *task))
            if len(pending) >= 2 * num_processes:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def texts(sources, *, piece_bytes=1 << 24):
    """Yield the clean text of books, a megabyte at a time, with progress.

    Args:
        sources: list of scanning.Source.
        piece_bytes: int, text read at once.
    """
    total = sum(source.size for source in sources)
    with console.bar("reading books", total) as advance:
        for source in sources:
            width = books.head_width(source.path)
            for piece in books.cut(source.path, piece_bytes):
                yield from _groups(books.read_piece(piece, width))
                advance(piece.end - piece.start)


def _groups(paragraphs):
    """Join paragraphs to texts of about a million characters."""
    group, characters = [], 0
    for paragraph in paragraphs:
        group.append(paragraph)
        characters += len(paragraph)
        if characters >= _GROUP_CHARACTERS:
            yield "\n".join(group)
            group, characters = [], 0
    if group:
        yield "\n".join(group)


def _start_worker(tokenizer, dtype):
    _in_worker["tokenizer"] = tokenizer
    _in_worker["dtype"] = dtype
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    # A killed parent cannot stop its workers.
    connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _encode_in_worker(source, piece):
    return encode_piece(
        source, piece, _in_worker["tokenizer"], _in_worker["dtype"]
    )
