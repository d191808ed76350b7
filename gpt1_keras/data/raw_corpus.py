"""A folder of `.txt` books that is tokenised while a model learns from it.

Nothing of the training books is kept but their names. The tokenizer and the
held-out books, which are prepared exactly as ever, lie in the cache.
"""

import dataclasses
import json
import pathlib

import numpy as np
from absl import logging

from gpt1_keras import dials
from gpt1_keras import files as files_lib
from gpt1_keras.data import books
from gpt1_keras.data import corpus_tokenizer
from gpt1_keras.data import folder_lock
from gpt1_keras.data import held_out
from gpt1_keras.data import preparation
from gpt1_keras.data import prepare
from gpt1_keras.data import scanning
from gpt1_keras.data import shards
from gpt1_keras.errors import InputError

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
            for piece in books.cut(files[name], preparation.PIECE_BYTES)
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
        from gpt1_keras.data import tf_raw_text

        return tf_raw_text.RawTextBatches(
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

    The held-out books are those that `prepare.open_corpus` chooses, and the
    tokenizer that is trained where none is given is the same. Not done is
    what needs the ids of all books: held-out books of which much stands in
    training books, too, stay held out.

    Args:
        corpus: path of a folder of `.txt` or one `.txt`.
        pool_books: int. Books whose windows are shuffled together.
        The others: as for `prepare.open_corpus`.

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
    dials.check_count("POOL_BOOKS", pool_books)
    files = prepare.find_corpus(corpus)
    identity = [tokenizer_type, vocabulary_size]
    if tokenizer is not None:
        identity = [tokenizer.sha256]
    split = {"held_out_fraction": held_out_fraction, "seed": seed}
    directory = prepare.cache_folder(
        "raw", files, [identity, *split.values()], cache_dir
    )
    with folder_lock.exclusive(directory, wait=True):
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
        tokenizer = corpus_tokenizer.load(
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
        corpus_tokenizer.check(tokenizer_type)
    scan = scanning.scan(files)
    kept_out = held_out.choose(
        scan.names, fraction=split["held_out_fraction"], seed=split["seed"]
    )
    train = [source for source in scan.sources if source.name not in kept_out]
    if tokenizer is None:
        tokenizer = corpus_tokenizer.train(
            scan,
            directory,
            tokenizer_type=tokenizer_type,
            vocabulary_size=vocabulary_size,
            **split,
        )
    if kept_out:
        prepare.prepare(
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
        (piece, *_) = books.cut(source.path, preparation.PIECE_BYTES)
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
