"""Pieces of books to token ids or word counts, in processes or with Beam.

The ids of each piece are written to a file, where a resumed run finds them.
With Apache Beam, many machines encode. Books and files must be on a file system
that all of them share, and this package must be installed on each.
"""

import collections
import itertools
import multiprocessing
import os
import re
import threading
from concurrent import futures
from multiprocessing import connection

import numpy as np

from gpt1_keras import console
from gpt1_keras import files
from gpt1_keras.data import books
from gpt1_keras.errors import InputError
from gpt1_keras.text import subwords
from gpt1_keras.text import train_vocabulary

PIECES = ".pieces"  # folder of the files of encoded pieces
_COUNT = np.dtype("<i8")
_GROUP_CHARACTERS = 1 << 20
_BYTES_WORTH_PROCESSES = 8 << 20
_function = None  # set in each worker process


def tasks_of(found, piece_bytes=books.PIECE_BYTES):
    """Return (book, piece) for all pieces of a list of `books.Book`."""
    return [
        (book, piece)
        for book in found
        for piece in books.cut(book.path, piece_bytes)
    ]


def write_piece(folder, tokenizer, dtype, book, piece):
    """Encode a piece of a book into its file; return its size in bytes.

    The file (see `read_piece`) holds the numbers of whitespace-separated words
    and of bytes of the cleaned text (UTF-8, a line break after each paragraph),
    then the ids. Pieces after the first start with the line break's id, so that
    all pieces together have the ids of the whole book. Raises
    InputError if the book has changed since it was checked.
    """
    if books.stamp(piece.path) != book.stamp:
        raise InputError(f"{piece.path} changed during the run: start it again")
    newline = tokenizer.newline_id or subwords.UNKNOWN_ID
    parts, words, size = [np.empty(0, dtype)], 0, 0
    for text in groups(books.read_piece(piece), _GROUP_CHARACTERS):
        words += len(text.split())
        size += len(text.encode("utf-8")) + 1
        ids = tokenizer.encode(text)
        if ids and (len(parts) > 1 or piece.start):
            parts.append(np.array([newline], dtype))
        parts.append(np.array(ids, dtype))
    content = np.array([words, size], _COUNT).tobytes()
    content += np.concatenate(parts).tobytes()
    files.write_atomic(piece_path(folder, tokenizer, book, piece), content)
    return piece.end - piece.start


def read_piece(path, dtype):
    """Return the ids `[n]` in the file of a piece, and its words and bytes."""
    counts = np.fromfile(path, _COUNT, 2).tolist()
    return np.fromfile(path, dtype, offset=2 * _COUNT.itemsize), *counts


def piece_path(folder, tokenizer, book, piece):
    """Return the path for a piece of this text with this tokenizer alone."""
    identity = [books.CLEANING, book.name, book.sha256, piece.start, piece.end]
    return folder / files.sha256_of_json([*identity, tokenizer.sha256])


def count_words(found, *, num_processes=None):
    """Return a Counter of the words in a list of `books.Book`."""
    tasks = tasks_of(found)
    counts = collections.Counter()
    with console.bar("counting words", total_bytes(tasks)) as advance:
        results = in_processes(_count_piece, tasks, num_processes=num_processes)
        for (_, piece), counted in zip(tasks, results, strict=True):
            counts.update(counted)
            advance(piece.end - piece.start)
    return counts


def total_bytes(tasks):
    return sum(piece.end - piece.start for _, piece in tasks)


def _count_piece(_, piece):
    return train_vocabulary.count_words(
        groups(books.read_piece(piece), _GROUP_CHARACTERS)
    )


def groups(paragraphs, num_characters):
    """Join paragraphs to texts of about `num_characters`."""
    group, characters = [], 0
    for paragraph in paragraphs:
        group.append(paragraph)
        characters += len(paragraph)
        if characters >= num_characters:
            yield "\n".join(group)
            group, characters = [], 0
    if group:
        yield "\n".join(group)


def in_processes(function, tasks, *, num_processes=None):
    """Yield `function(book, piece)` for all tasks, in order.

    By default, all processors are used if there is much text.
    """
    if num_processes is None:
        is_much = total_bytes(tasks) >= _BYTES_WORTH_PROCESSES
        available = num_processors() if is_much else 1
        num_processes = max(1, min(available, len(tasks)))
    if num_processes == 1:
        yield from itertools.starmap(function, tasks)
        return
    with futures.ProcessPoolExecutor(
        num_processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(function,),
    ) as pool:
        yield from pool.map(_work, tasks)


def num_processors():
    if hasattr(os, "sched_getaffinity"):  # on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _start_worker(function):
    global _function
    _function = function
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    # A parent that is killed cannot stop its workers.
    connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _work(task):
    return _function(*task)


def in_beam(runner, options=()):
    """Return a function to replace `in_processes`, which uses Apache Beam.

    It calls `function(*task)` for all tasks, then yields their total size.
    `runner` is a name such as "FlinkRunner"; `options` is a list of str such as
    "--direct_num_workers=4".
    """
    try:
        import apache_beam as beam

        beam.runners.create_runner(runner)
    except (ImportError, ValueError) as error:
        raise InputError(
            f"--beam {runner} is not usable ({str(error).splitlines()[0]}): pip"
            " install -r requirements-beam.txt, or pass another runner"
        ) from None

    def distribute(function, tasks):
        argv = [f"--runner={runner}", *options]
        try:
            with beam.Pipeline(argv=argv) as pipeline:
                _ = (
                    pipeline
                    | "pieces" >> beam.Create(tasks)
                    | "spread" >> beam.Reshuffle()
                    | "encode" >> beam.MapTuple(function)
                )
        except Exception as error:  # each runner wraps it in its own type
            found = re.search(r"InputError: ([^\[\n]+)", str(error))
            if found is None:
                raise
            raise InputError(found[1].strip()) from None
        yield total_bytes(tasks)

    return distribute
