"""Training on `.txt` books that are cleaned and tokenised inside tf.data."""

import dataclasses
import functools
import json
import pathlib
import types

import numpy as np
import tensorflow as tf
from absl import logging

from gpt1_keras import files as files_lib
from gpt1_keras.data import batches
from gpt1_keras.data import books
from gpt1_keras.data import encode
from gpt1_keras.data import loaders
from gpt1_keras.data import prepare
from gpt1_keras.data import shards
from gpt1_keras.data import windows as windows_lib
from gpt1_keras.errors import InputError
from gpt1_keras.text import tf_tokenizer

_INDEX = "raw_corpus.json"
_SAMPLE_BOOKS = 32
_SAMPLE_CHARACTERS = 1 << 16
_NUM_FREQUENT = 20000
_PARALLEL_CALLS = 2
_MISSING = -1  # padding of a book that is shorter than a window


class PooledWindows(windows_lib.TrainingWindows):
    """The windows that a step reads, chosen from estimated lengths of books.

    Books come in an endless stream, in a new random order every epoch. The
    windows of `pool_books` consecutive books are shuffled together. Each book
    has the `TrainingWindows` of its estimated length, and their starts are
    scaled to the real length, so a token is seen about once an epoch.
    """

    def __init__(self, lengths, *, pool_books, **options):
        super().__init__(lengths, **options)
        self._num_books = len(self.books)
        self._epoch = functools.lru_cache(maxsize=4)(self._draw)
        self.pool_books = min(pool_books, self._num_books)

    def find(self, number):
        """Return (pool, position in it) of window `number` of the stream."""
        epoch, place = divmod(int(number), self.num_windows)
        borders = self._epoch(epoch)[1]
        nth = int(np.searchsorted(borders[1:], place, side="right"))
        pool = (epoch * self._num_books + nth) // self.pool_books
        return pool, int(number) - self._before(pool * self.pool_books)

    def book(self, place):
        """Return the book at `place` of the stream and its windows' starts.

        The book is an int. The starts are float64 `[K]`, ascending, from 0 (the
        first token) to 1 (the last token where a window can start).
        """
        epoch, nth = divmod(int(place), self._num_books)
        row = int(self._epoch(epoch)[0][nth])
        _, start = self.in_order(epoch, np.arange(*self.borders[row : row + 2]))
        last = self._lengths[row] - self._sequence_length
        return int(self.books[row]), start / max(last, 1)

    def order(self, pool):
        """Return the order in which a pool's windows are read, int64 `[K]`.

        Windows are numbered as in the stream.
        """
        first = pool * self.pool_books
        count = self._before(first + self.pool_books) - self._before(first)
        keys = windows_lib.hash_of(self._seed, 4, pool)
        return windows_lib.permute(np.arange(count), count, keys)

    def _before(self, place):
        """Return the number of windows of all books before `place`."""
        epoch, nth = divmod(place, self._num_books)
        return epoch * self.num_windows + int(self._epoch(epoch)[1][nth])

    def _draw(self, epoch):
        """Return (order of the books, borders of their windows)."""
        order = windows_lib.shuffled(self._num_books, self._seed, 5, epoch)
        counts = np.diff(self.borders)[order]
        return order, np.concatenate([[0], np.cumsum(counts)])


class RawTextBatches:
    """Training batches of a `RawCorpus`, a function of (seed, step).

    A tf.data pipeline reads, cleans and tokenises books (`text.tf_tokenizer`)
    and cuts them into windows, one pool of books ahead of the model. A resumed
    run reads only from the pool of its step on. A book that turns out to be
    shorter than a window is padded with tokens of weight 0.
    """

    def __init__(self, corpus, *, batch_size, sequence_length, seed):
        self._pieces = corpus.pieces
        self._windows = PooledWindows(
            corpus.split("train").lengths,
            sequence_length=sequence_length,
            seed=seed,
            pool_books=corpus.pool_books,
        )
        with tf.device("CPU:0"):  # where tf.data runs
            self._tokenizer = tf_tokenizer.GraphTokenizer(
                corpus.tokenizer, corpus.index["frequent"]
            )
        self._batch_size = batch_size
        self._sequence_length = sequence_length
        self.num_windows = self._windows.num_windows

    def dataset(self, *, first_step, num_steps):
        """Return the batches of consecutive steps; see `loaders.load`."""
        pool, place = self._windows.find(first_step * self._batch_size)
        pool_books = self._windows.pool_books
        chain = (
            tf.data.Dataset.range(pool * pool_books, tf.int64.max)
            .map(self._book, _PARALLEL_CALLS, deterministic=True)
            .ragged_batch(pool_books)
            .enumerate(pool)
            .map(self._shuffled)
            .prefetch(1)
            .unbatch()
            .skip(place)
            .batch(self._batch_size, drop_remainder=True)
            .map(self._batch)
            .take(num_steps)
        )
        return loaders.prefetched(chain, num_steps)

    def _book(self, place):
        """Return the windows of the book at `place`, int32 `[K, T]`."""
        text, shares = tf.numpy_function(
            self._read, [place], [tf.string, tf.float64]
        )
        ids = self._tokenizer(tf.reshape(text, [1])).values
        length = self._sequence_length
        last = tf.cast(tf.maximum(tf.size(ids) - length, 0), tf.float64)
        start = tf.round(tf.ensure_shape(shares, [None]) * last)
        # [K] -> [K, T]
        index = tf.cast(start, tf.int32)[:, None] + tf.range(length)
        missing = tf.fill([length], _MISSING)
        return tf.gather(tf.concat([ids, missing], axis=0), index)

    def _read(self, place):
        book, shares = self._windows.book(place)
        text = "\n".join(books.read_piece(self._pieces[book]))
        return text.encode("utf-8"), shares

    def _shuffled(self, pool, windows):
        """Shuffle the windows of a pool: `[books, (K), T]` to `[K, T]`."""
        order = tf.numpy_function(self._windows.order, [pool], tf.int64)
        return tf.gather(windows.values, tf.ensure_shape(order, [None]))

    def _batch(self, windows):
        shape = [self._batch_size, self._sequence_length]
        windows = tf.ensure_shape(windows, shape)
        is_token = windows != _MISSING
        # Nothing precedes the first token.
        weights = tf.cast(is_token & (tf.range(shape[1]) > 0), tf.float32)
        last = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1) - 1
        ids, last = tf.maximum(windows, 0), tf.maximum(last, 0)
        # [B, T] -> [B, C=1, T], [B] -> [B, C=1]
        return batches.as_batch(ids[:, None], weights[:, None], last[:, None])


@dataclasses.dataclass
class RawCorpus:
    """A corpus that is tokenised during training, in place of `Shards`."""

    directory: pathlib.Path
    index: dict  # the content of `raw_corpus.json`
    pieces: list  # of `books.Piece`, the training books
    tokenizer: object
    pool_books: int

    def split(self, name):
        """Return the `Split` "held_out", or estimated `lengths` of "train"."""
        if name == "held_out":
            if not self.index["held_out"]:
                empty = {"books": [], "shard_tokens": 1, "vocabulary_size": 1}
                return shards.Split(self.directory, empty, name)
            return shards.Shards.open(self.directory / name).split("all")
        sizes = np.array([piece.end - piece.start for piece in self.pieces])
        tokens = np.round(sizes * self.index["tokens_per_byte"])
        return types.SimpleNamespace(lengths=tokens.astype(np.int64))

    def sha256(self):
        """Return a digest of the training books."""
        return self.index["books_sha256"]

    def training_batches(self, *, repeated_share=0.0, **options):
        if repeated_share:
            raise InputError(
                f"`repeated_share` is {repeated_share}, but books that are "
                "tokenised during training are not repeated: leave out "
                "gin/data/raw_text.gin, or set `repeated_share` = 0"
            )
        return RawTextBatches(self, **options)


def open_raw(corpus, recipe, *, pool_books):
    """Return (`RawCorpus`, `Tokenizer`) of books tokenised during training.

    Arguments, tokenizer and held-out books are those of `prepare.open_corpus`,
    but held-out books that share text with training books stay held out: only
    the ids of all books would show them. For `pool_books`, see `PooledWindows`.
    """
    files = books.find_books([corpus])
    directory = prepare.cache_folder("raw", files, recipe)
    path = directory / _INDEX
    with prepare.exclusive(directory, wait=True):
        try:
            index = files_lib.parse_json(path.read_bytes())
            _ = index["books_sha256"]  # An earlier version wrote none.
        except (OSError, ValueError, KeyError):  # missing or damaged
            index = _make_index(directory, files, recipe)
            text = json.dumps(index, indent=1, ensure_ascii=False)
            files_lib.write_atomic(path, text + "\n")
    sha256 = index["tokenizer_sha256"]
    tokenizer = prepare.tokenizer_of(directory, recipe, sha256=sha256)
    pieces = [p for name in index["train"] for p in books.cut(files[name])]
    logging.info(
        f"corpus {corpus} is tokenised during training: {len(index['train']):,}"
        f" training books, about {index['tokens_per_byte']:.3f} tokens per"
        f" byte, {len(index['held_out']):,} held-out books in {directory}"
    )
    return RawCorpus(directory, index, pieces, tokenizer, pool_books), tokenizer


def _make_index(directory, files, recipe):
    """Train the tokenizer if none is given, and prepare the held-out books."""
    found, _ = books.check_all(files)
    held_out = sorted(recipe.held_out([book.name for book in found]))
    train = [book for book in found if book.name not in held_out]
    tokenizer = prepare.find_or_train_tokenizer(found, directory, recipe)
    if held_out:
        prepare.prepare(
            {name: files[name] for name in held_out},
            directory / "held_out",
            prepare.Recipe(tokenizer),
        )
    texts = []
    for book in train[:: -(-len(train) // _SAMPLE_BOOKS)]:
        paragraphs = books.read_piece(books.cut(book.path)[0])
        groups = encode.groups(paragraphs, _SAMPLE_CHARACTERS)
        texts.append(next(groups, ""))
    tokens = sum(map(len, tokenizer.encode_batch(texts)))
    num_bytes = sum(len(text.encode("utf-8")) for text in texts)
    return {
        "tokenizer_sha256": tokenizer.sha256,
        "books_sha256": files_lib.sha256_of_json([x.sha256 for x in train]),
        "train": [book.name for book in train],
        "held_out": held_out,
        "tokens_per_byte": tokens / max(1, num_bytes),
        "frequent": tf_tokenizer.frequent_pieces(texts, _NUM_FREQUENT),
    }
