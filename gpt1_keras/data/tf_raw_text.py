"""Training on `.txt` books that are cleaned and tokenised inside tf.data.

`RawCorpus` replaces `shards.Shards`, `RawTextBatches` replaces
`batches.TrainingBatches`.
"""

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
_HELD_OUT = "held_out"
_SAMPLE_BOOKS = 32
_SAMPLE_CHARACTERS = 1 << 16
_NUM_FREQUENT = 20000
_PARALLEL_CALLS = 2
_MISSING = -1  # padding of a book that is shorter than a window


class PooledWindows:
    """The windows that a step reads, chosen from estimated lengths of books.

    Books come in an endless stream, in a new random order every epoch. Each
    has the windows of `windows.TrainingWindows` for its estimated length, and
    their starts are scaled to the real length, so a token is seen about once an
    epoch. The windows of `pool_books` consecutive books are shuffled together.
    All this is a function of the seed. `lengths` `[N]` are the estimates; books
    with fewer than T tokens by estimate are not used.
    """

    def __init__(self, lengths, *, sequence_length, seed, pool_books):
        self._windows = windows_lib.TrainingWindows(
            lengths, sequence_length=sequence_length, seed=seed
        )
        self._lengths = np.asarray(lengths, np.int64)
        self._sequence_length = sequence_length
        self._seed = seed
        self._num_books = len(self._windows.books)
        self._epoch = functools.lru_cache(maxsize=4)(self._draw)
        self.num_windows = self._windows.num_windows
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

        The book is an int below N. The starts are float64 `[K]`, ascending,
        from 0 (the first token) to 1 (the last token where a window can start).
        """
        epoch, nth = divmod(int(place), self._num_books)
        row = int(self._epoch(epoch)[0][nth])
        numbers = np.arange(*self._windows.borders[row : row + 2])
        book, start = self._windows.in_order(
            np.full_like(numbers, epoch), numbers
        )
        last = self._lengths[book] - self._sequence_length
        return int(self._windows.books[row]), start / np.maximum(last, 1)

    def order(self, pool):
        """Return the order in which the windows of a pool are read.

        Returns int64 `[K]`: windows are numbered in the order of the books in
        the stream and of their starts in a book.
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
        rows = np.arange(self._num_books)
        keys = windows_lib.hash_of(self._seed, 5, epoch, rows)
        order = np.argsort(keys, kind="stable")
        counts = np.diff(self._windows.borders)[order]
        return order, np.concatenate([[0], np.cumsum(counts)])


class RawTextBatches:
    """Training batches for `loaders.load`, a function of (seed, step).

    A tf.data pipeline reads, cleans and tokenises books (`text.tf_tokenizer`)
    and cuts them into windows, one pool of books ahead of the model.
    `PooledWindows` determines which step reads which window, so a run that
    resumes at a step reads only the pool of that step. A book that turns out
    to be shorter than a window is padded with tokens of weight 0.

    `pieces` are the training books as `books.Piece`, `lengths` `[N]` their
    estimated numbers of tokens, `frequent` the frequent words for the table of
    the graph tokenizer, and `options` arguments of `PooledWindows`.
    """

    def __init__(
        self, pieces, lengths, *, tokenizer, frequent, batch_size, **options
    ):
        self._pieces = pieces
        self._windows = PooledWindows(lengths, **options)
        with tf.device("CPU:0"):  # where tf.data runs
            self._tokenizer = tf_tokenizer.GraphTokenizer(tokenizer, frequent)
        self._batch_size = batch_size
        self._sequence_length = options["sequence_length"]
        self.num_windows = self._windows.num_windows

    def dataset(self, *, first_step, num_steps):
        """Return the batches of consecutive steps; see `loaders.load`."""
        first = first_step * self._batch_size
        pool, place = self._windows.find(first)
        pool_books = self._windows.pool_books
        books_read = tf.data.Dataset.range(pool * pool_books, tf.int64.max).map(
            self._book, num_parallel_calls=_PARALLEL_CALLS, deterministic=True
        )
        chain = (
            books_read.ragged_batch(pool_books)
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
        weights = tf.cast(is_token, tf.float32)
        # Nothing precedes the first token.
        weights *= tf.cast(tf.range(shape[1]) > 0, tf.float32)
        last = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1) - 1
        ids, last = tf.maximum(windows, 0), tf.maximum(last, 0)
        # [B, T] -> [B, C=1, T], [B] -> [B, C=1]
        return batches.as_batch(ids[:, None], weights[:, None], last[:, None])


class RawCorpus:
    """A corpus that is tokenised during training (see `open_raw`)."""

    def __init__(self, directory, index, files, tokenizer, pool_books):
        self._directory = directory
        self._index = index
        self._tokenizer = tokenizer
        self._pool_books = pool_books
        self._pieces = [
            piece for name in index["train"] for piece in books.cut(files[name])
        ]

    def split(self, name):
        """Return the `Split` "held_out", or estimated `lengths` of "train"."""
        if name == "held_out":
            if not self._index["held_out"]:
                empty = {"books": [], "shard_tokens": 1, "vocabulary_size": 1}
                return shards.Split(self._directory, empty, name)
            prepared = shards.Shards.open(self._directory / _HELD_OUT)
            return prepared.split("all")
        sizes = np.array([piece.end - piece.start for piece in self._pieces])
        tokens = np.round(sizes * self._index["tokens_per_byte"])
        return types.SimpleNamespace(lengths=tokens.astype(np.int64))

    def training_batches(self, *, repeated_share=0.0, **options):
        if repeated_share:
            raise InputError(
                f"`repeated_share` is {repeated_share}, but books that are "
                "tokenised during training are not repeated: leave out "
                "gin/data/raw_text.gin, or set `repeated_share` = 0"
            )
        return RawTextBatches(
            self._pieces,
            self.split("train").lengths,
            tokenizer=self._tokenizer,
            frequent=self._index["frequent"],
            pool_books=self._pool_books,
            **options,
        )


def open_raw(corpus, recipe, *, pool_books):
    """Return (`RawCorpus`, `Tokenizer`) of books tokenised during training.

    Tokenizer and held-out books are those of `prepare.open_corpus`, except
    that held-out books stay held out even if they share text with training
    books: to find out, one needs the ids of all books. `corpus` and `recipe`
    are as there; the windows of `pool_books` books are shuffled together.
    """
    files = books.find_books([pathlib.Path(corpus).expanduser()])
    directory = prepare.cache_folder("raw", files, recipe)
    path = directory / _INDEX
    with prepare.exclusive(directory, wait=True):
        try:
            index = files_lib.parse_json(path.read_bytes())
        except (OSError, ValueError):  # missing or damaged
            index = _make_index(directory, files, recipe)
            text = json.dumps(index, indent=1, ensure_ascii=False)
            files_lib.write_atomic(path, text + "\n")
    tokenizer = prepare.tokenizer_of(
        directory, recipe, sha256=index["tokenizer_sha256"]
    )
    logging.info(
        f"corpus {corpus} is tokenised during training: {len(index['train']):,}"
        f" training books, about {index['tokens_per_byte']:.3f} tokens per"
        f" byte, {len(index['held_out']):,} held-out books in {directory}"
    )
    return RawCorpus(directory, index, files, tokenizer, pool_books), tokenizer


def _make_index(directory, files, recipe):
    """Train the tokenizer if none is given, and prepare the held-out books."""
    found, _ = books.check_all(files)
    held_out = sorted(recipe.held_out([book.name for book in found]))
    train = [book for book in found if book.name not in held_out]
    tokenizer = recipe.tokenizer or prepare.train_tokenizer(
        found, directory, recipe
    )
    if held_out:
        prepare.prepare(
            {name: files[name] for name in held_out},
            directory / _HELD_OUT,
            prepare.Recipe(tokenizer),
        )
    texts = _beginnings(train)
    tokens = sum(map(len, tokenizer.encode_batch(texts)))
    num_bytes = sum(len(text.encode("utf-8")) for text in texts)
    return {
        "tokenizer_sha256": tokenizer.sha256,
        "train": [book.name for book in train],
        "held_out": held_out,
        "tokens_per_byte": tokens / max(1, num_bytes),
        "frequent": tf_tokenizer.frequent_pieces(texts, _NUM_FREQUENT),
    }


def _beginnings(found):
    texts = []
    for book in found[:: -(-len(found) // _SAMPLE_BOOKS)]:
        paragraphs = books.read_piece(books.cut(book.path)[0])
        groups = encode.groups(paragraphs, _SAMPLE_CHARACTERS)
        texts.append(next(groups, ""))
    return texts
