"""Training batches out of `.txt` books: cleaned and tokenised on the way."""

import dataclasses
import functools
import json
import pathlib

import numpy as np
import tensorflow as tf
from absl import logging

from gpt1_keras import files as files_lib
from gpt1_keras.data import books
from gpt1_keras.data import corpus as corpus_lib
from gpt1_keras.data import encode
from gpt1_keras.data import prepare
from gpt1_keras.data import shards
from gpt1_keras.data import windows as windows_lib
from gpt1_keras.errors import InputError
from gpt1_keras.text import tf_tokenizer

# -----------------------------------------------------------------------------
# Windows of books whose tokens nobody has counted, in pure numpy.


class PooledWindows:
    """The endless stream of books, and which windows of each a step reads.

    In every epoch the books stand in a new random order. Each gives the
    windows that `windows.TrainingWindows` would cut from a book of its
    estimated length, stretched or pressed together to the length it turns
    out to have: their number is that of the estimate, and a token is seen
    about once an epoch. The windows of `pool_books` books that follow each
    other are shuffled. All is a function of the seed.

    Args:
        lengths: int `[N]`, estimated tokens of each book; shorter ones than
            T are not used.
        sequence_length: int, T, at least 2.
        seed: int.
        pool_books: int, cut to the number of books used.

    Attributes:
        num_windows: int, windows of one epoch.
        pool_books: int.

    Raises:
        InputError: no book has T tokens.
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
        """Return (pool, place in it) of window `number` of the stream."""
        epoch, place = divmod(int(number), self.num_windows)
        borders = self._epoch(epoch)[1]
        nth = int(np.searchsorted(borders[1:], place, side="right"))
        pool = (epoch * self._num_books + nth) // self.pool_books
        return pool, int(number) - self._before(pool * self.pool_books)

    def book(self, place):
        """Return the book, an int below N, at `place` of the stream."""
        row, _ = self._row(place)
        return int(self._windows.books[row])

    def shares(self, place):
        """Return where the windows of the book at `place` begin.

        Returns:
            float64 `[K]`, ascending: 0 for the first of its tokens at which
            a window may begin, 1 for the last one.
        """
        row, epoch = self._row(place)
        first, end = self._windows.borders[row : row + 2]
        numbers = np.arange(first, end, dtype=np.int64)
        book, start = self._windows.in_order(
            np.full_like(numbers, epoch), numbers
        )
        last = self._lengths[book] - self._sequence_length
        return start / np.maximum(last, 1)

    def order(self, pool):
        """Return in which order the windows of a pool are read, int64 `[K]`.

        They are numbered as their books stand in the stream, and in a book
        as they begin.
        """
        first = pool * self.pool_books
        count = self._before(first + self.pool_books) - self._before(first)
        keys = windows_lib.hash_of(self._seed, 4, pool)
        return windows_lib.permute(np.arange(count), count, keys)

    def _before(self, place):
        """Return the windows of all books before `place` of the stream."""
        epoch, nth = divmod(place, self._num_books)
        return epoch * self.num_windows + int(self._epoch(epoch)[1][nth])

    def _row(self, place):
        epoch, nth = divmod(int(place), self._num_books)
        return int(self._epoch(epoch)[0][nth]), epoch

    def _draw(self, epoch):
        """Return the order of the books, and the borders of their windows."""
        rows = np.arange(self._num_books)
        keys = windows_lib.hash_of(self._seed, 5, epoch, rows)
        order = np.argsort(keys, kind="stable")
        counts = np.diff(self._windows.borders)[order]
        return order, np.concatenate([[0], np.cumsum(counts)])


# -----------------------------------------------------------------------------
# Training batches out of `.txt` books: cleaned and tokenised on the way.

_NO_END = np.iinfo(np.int64).max
_PARALLEL_CALLS = 2
_PREFETCHED_BATCHES = 4
_MISSING = -1  # in place of an id, where a book is shorter than a window


class RawTextBatches:
    """Batches of T tokens, for `loaders.load`; each is one of (seed, step).

    Books are read, cleaned, tokenised by `text.tf_tokenizer` and cut into
    windows in a tf.data chain, a pool of books ahead of the model. What step
    reads which window says `pooled_windows`; to begin at any step only the
    pool it falls into is read again. A book that turns out shorter than a
    window is filled up with tokens of weight 0.

    Args:
        pieces: list of `books.Piece`, the training books.
        lengths: int64 `[N]`, about how many tokens they have.
        tokenizer: `text.tokenizer.Tokenizer`.
        frequent: list of str, for the table of the graph
            (`tf_tokenizer.frequent_pieces`).
        batch_size: int, B.
        sequence_length: int, T.
        seed: int, the order of the data.
        pool_books: int, books whose windows are shuffled together.

    Attributes:
        num_windows: int, windows of one epoch.
    """

    def __init__(
        self,
        pieces,
        lengths,
        *,
        tokenizer,
        frequent,
        batch_size,
        sequence_length,
        seed,
        pool_books,
    ):
        self._pieces = pieces
        self._windows = PooledWindows(
            lengths,
            sequence_length=sequence_length,
            seed=seed,
            pool_books=pool_books,
        )
        with tf.device("CPU:0"):  # where tf.data runs
            self._tokenizer = tf_tokenizer.GraphTokenizer(tokenizer, frequent)
        self._batch_size = batch_size
        self._sequence_length = sequence_length
        self.num_windows = self._windows.num_windows

    def dataset(self, *, first_step=0, num_steps):
        """Return the batches of consecutive steps, as `tf_loader.dataset`.

        Args:
            first_step: int, where a resumed run goes on.
            num_steps: int; None goes on without end.
        """
        first = first_step * self._batch_size
        pool, place = self._windows.find(first)
        pool_books = self._windows.pool_books
        books_read = tf.data.Dataset.range(pool * pool_books, _NO_END).map(
            self._book, num_parallel_calls=_PARALLEL_CALLS, deterministic=True
        )
        pools = tf.data.Dataset.zip(
            tf.data.Dataset.range(pool, _NO_END),
            books_read.ragged_batch(pool_books),
        )
        batches = (
            pools.map(self._shuffled)
            .prefetch(1)
            .unbatch()
            .skip(place)
            .batch(self._batch_size, drop_remainder=True)
            .map(self._batch)
        )
        if num_steps is not None:
            batches = batches.take(num_steps).apply(
                tf.data.experimental.assert_cardinality(num_steps)
            )
        return batches.prefetch(_PREFETCHED_BATCHES)

    def _book(self, place):
        """Return the windows of the book at `place`, int32 `[K, T]`."""
        text = tf.numpy_function(self._read, [place], tf.string)
        shares = tf.numpy_function(self._windows.shares, [place], tf.float64)
        ids = self._tokenizer(tf.reshape(text, [1])).values
        last = tf.maximum(tf.size(ids) - self._sequence_length, 0)
        start = tf.round(
            tf.ensure_shape(shares, [None]) * tf.cast(last, tf.float64)
        )
        # [K] -> [K, T]
        index = tf.cast(start, tf.int32)[:, None] + tf.range(
            self._sequence_length
        )
        missing = tf.fill([self._sequence_length], _MISSING)
        return tf.gather(tf.concat([ids, missing], axis=0), index)

    def _read(self, place):
        piece = self._pieces[self._windows.book(place)]
        width = books.head_width(piece.path)
        return "\n".join(books.read_piece(piece, width)).encode("utf-8")

    def _shuffled(self, pool, windows):
        """Ragged `[books, (K), T]` to the windows of the pool `[K, T]`."""
        order = tf.numpy_function(self._windows.order, [pool], tf.int64)
        return tf.gather(windows.values, tf.ensure_shape(order, [None]))

    def _batch(self, windows):
        """Return the dict of a batch (`data.batches`) of `[B, T]` ids."""
        shape = [self._batch_size, self._sequence_length]
        windows = tf.ensure_shape(windows, shape)
        is_token = windows != _MISSING
        weights = tf.cast(is_token, tf.float32)
        # Nothing precedes the first token.
        weights *= tf.cast(tf.range(shape[1]) > 0, tf.float32)
        last = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1) - 1
        return {
            "token_ids": tf.maximum(windows, 0)[:, None, :],
            "token_weights": weights[:, None, :],
            "extract_position": tf.maximum(last, 0)[:, None],
        }


# -----------------------------------------------------------------------------
# A folder of `.txt` books that is tokenised while a model learns from it.

_INDEX = "raw_corpus.json"
_HELD_OUT = "held_out"
_SAMPLE_BOOKS = 32
_SAMPLE_CHARACTERS = 1 << 16
_NUM_FREQUENT = 20000
_NO_BOOKS = {"shard_tokens": 1, "dtype": "uint16", "shards": []}


@dataclasses.dataclass(frozen=True)
class Estimated:
    """The training books; `lengths` int64 `[N]` are estimates in tokens."""

    lengths: np.ndarray


class RawCorpus:
    """In place of `shards.Shards`; made by `open_raw`.

    Args:
        directory: pathlib.Path of its folder in the cache.
        index: dict, the content of its index.
        files: dict from name to path of all files.
        tokenizer: `text.tokenizer.Tokenizer`.
        pool_books: int (`tf_raw_text`).
    """

    def __init__(self, directory, index, files, tokenizer, pool_books):
        self._directory = directory
        self._index = index
        self._tokenizer = tokenizer
        self._pool_books = pool_books
        self._pieces = [
            piece
            for name in index["train"]
            for piece in books.cut(files[name], prepare.PIECE_BYTES)
        ]

    def split(self, name):
        """Return what `Shards.split` does; for training, its lengths."""
        if name == "held_out":
            if not self._index["held_out"]:
                return shards.Split(self._directory, _NO_BOOKS, [])
            prepared = shards.Shards.open(self._directory / _HELD_OUT)
            # It holds nothing else: none of these is held out of it.
            return prepared.split("train")
        sizes = np.array([piece.end - piece.start for piece in self._pieces])
        tokens = np.round(sizes * self._index["tokens_per_byte"])
        return Estimated(tokens.astype(np.int64))

    def training_batches(self, **options):
        """Return `tf_raw_text.RawTextBatches` of the training books."""

        return RawTextBatches(
            self._pieces,
            self.split("train").lengths,
            tokenizer=self._tokenizer,
            frequent=self._index["frequent"],
            pool_books=self._pool_books,
            **options,
        )


def open_raw(
    corpus,
    *,
    tokenizer=None,
    tokenizer_type,
    vocabulary_size,
    held_out_fraction,
    seed,
    pool_books,
    cache_dir=None,
):
    """Open a folder of `.txt` books to be tokenised during training.

    The held-out books are those that `corpus.open_corpus` chooses, and the
    tokenizer that is trained where none is given is the same. Not done is
    what needs the ids of all books: held-out books of which much stands in
    training books, too, stay held out.

    Args:
        corpus: path of a folder of `.txt` or one `.txt`.
        pool_books: int. Books whose windows are shuffled together.
        The others: as for `corpus.open_corpus`.

    Returns:
        (RawCorpus, Tokenizer).

    Raises:
        InputError: there are no books, or they are prepared already.
    """
    corpus = pathlib.Path(corpus).expanduser()
    if shards.is_prepared(corpus):
        raise InputError(
            f"CORPUS {corpus} holds token shards: give a folder of .txt books "
            "or leave gin/data/raw_text.gin out"
        )
    files = corpus_lib.find_corpus(corpus)
    identity = [tokenizer_type, vocabulary_size]
    if tokenizer is not None:
        identity = [tokenizer.sha256]
    split = {"held_out_fraction": held_out_fraction, "seed": seed}
    directory = corpus_lib.cache_folder(
        "raw", files, [identity, *split.values()], cache_dir
    )
    with files_lib.exclusive(directory, wait=True):
        index = _read(directory)
        if index is None:
            index = _make(
                directory,
                files,
                tokenizer,
                tokenizer_type,
                vocabulary_size,
                **split,
            )
    if tokenizer is None:
        tokenizer = prepare.load_tokenizer(
            directory, sha256=index["tokenizer_sha256"]
        )
    logging.info(
        "corpus %s is tokenised while it is read: %s training books, about %s "
        "tokens a byte, %s held-out books in %s",
        corpus,
        f"{len(index['train']):,}",
        f"{index['tokens_per_byte']:.3f}",
        f"{len(index['held_out']):,}",
        directory,
    )
    return RawCorpus(directory, index, files, tokenizer, pool_books), tokenizer


def _read(directory):
    try:
        return json.loads((directory / _INDEX).read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _make(
    directory, files, tokenizer, tokenizer_type, vocabulary_size, **split
):
    """Do what is done once for a corpus; return the index."""
    if tokenizer is None:
        prepare.check_tokenizer(tokenizer_type)
    scan = encode.scan(files)
    kept_out = prepare.choose_held_out(
        scan.names, fraction=split["held_out_fraction"], seed=split["seed"]
    )
    train = [source for source in scan.sources if source.name not in kept_out]
    if tokenizer is None:
        tokenizer = prepare.train_tokenizer(
            scan,
            directory,
            tokenizer_type=tokenizer_type,
            vocabulary_size=vocabulary_size,
            **split,
        )
    if kept_out:
        corpus_lib.prepare(
            {name: files[name] for name in sorted(kept_out)},
            tokenizer,
            directory / _HELD_OUT,
            held_out_fraction=0,
            seed=0,
        )
    from gpt1_keras.text import tf_tokenizer

    texts = _sample(train)
    index = {
        "tokenizer_sha256": tokenizer.sha256,
        "train": [source.name for source in train],
        "held_out": sorted(kept_out),
        "tokens_per_byte": _tokens_per_byte(texts, tokenizer),
        "frequent": tf_tokenizer.frequent_pieces(texts, _NUM_FREQUENT),
    }
    text = json.dumps(index, indent=1, ensure_ascii=False)
    files_lib.write_atomic(directory / _INDEX, text + "\n")
    return index


def _sample(sources):
    """Return the beginnings of some books."""
    texts = []
    for source in sources[:: -(-len(sources) // _SAMPLE_BOOKS)]:
        width = books.head_width(source.path)
        (piece, *_) = books.cut(source.path, prepare.PIECE_BYTES)
        kept, characters = [], 0
        for paragraph in books.read_piece(piece, width):
            kept.append(paragraph)
            characters += len(paragraph)
            if characters >= _SAMPLE_CHARACTERS:
                break
        texts.append("\n".join(kept))
    return texts


def _tokens_per_byte(texts, tokenizer):
    tokens = sum(map(len, tokenizer.encode_batch(texts)))
    return tokens / max(1, sum(len(text.encode("utf-8")) for text in texts))
